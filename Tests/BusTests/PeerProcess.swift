import CLinux
import Glibc
import Synchronization
import TestKit

/// A `bus-peer` that a test can kill, freeze and stop.
final class PeerProcess: Sendable {
    let instance: String
    private let pid: pid_t
    private let output: String
    private let isReaped = Mutex(false)

    init(_ arguments: [String], output: String) throws {
        instance = arguments[1]
        self.output = output
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        let path = Self.executable
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, path, &actions, nil, &words, Glibc.environ)
        guard code == 0 else { throw Failure("cannot start \(path): \(code)") }
        self.pid = pid
    }

    /// SIGKILL, and waits until it is gone.
    func kill() {
        isReaped.withLock { isReaped in
            guard !isReaped else { return }
            isReaped = true
            _ = Glibc.kill(pid, SIGKILL)
            var status: Int32 = 0
            waitpid(pid, &status, 0)
        }
    }

    /// Stops it and returns when no thread of it runs any more; the signal alone is not yet that.
    func freeze() {
        _ = Glibc.kill(pid, SIGSTOP)
        var status: siginfo_t = siginfo_t()
        _ = waitid(P_PID, id_t(pid), &status, WSTOPPED | WNOWAIT)
    }

    func thaw() { _ = Glibc.kill(pid, SIGCONT) }
    func terminate() { _ = Glibc.kill(pid, SIGTERM) }

    /// Whether it ended by itself.
    var hasEnded: Bool {
        isReaped.withLock { isReaped in
            var status: Int32 = 0
            if !isReaped, waitpid(pid, &status, WNOHANG) == pid { isReaped = true }
            return isReaped
        }
    }

    /// Waits for a line it printed.
    func line(_ beginning: String) async throws -> String {
        var found: String?
        try await eventually("\(instance) prints \(beginning)") {
            found = lines().first { $0.hasPrefix(beginning) }
            if let failure = lines().first(where: { $0.hasPrefix("failed") }) {
                throw Failure(failure)
            }
            return found != nil
        }
        return found ?? ""
    }

    /// Whole lines printed so far.
    private func lines() -> [String] {
        let descriptor = open(output, O_RDONLY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        guard let end = text.lastIndex(of: "\n") else { return [] }
        return text[..<end].split(separator: "\n").map(String.init)
    }

    /// Beside the test bundle.
    private static let executable: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(
            decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return folder + "/bus-peer"
    }()
}
