internal import Glibc

/// A program that was run to its end.
public struct FinishedProgram: Sendable {
    /// Its exit code; 128 + n when signal n ended it.
    public let status: Int32
    /// What it wrote to both its outputs.
    public let output: String

    /// Runs a program in the repository's root; blocks.
    ///
    /// - Parameters:
    ///   - command: The program, found by PATH, and its arguments.
    ///   - environment: Variables beside those of this process.
    /// - Throws: ``ThrowawayPostgresError`` when it cannot be started.
    public init(_ command: [String], environment: [String: String] = [:]) throws {
        // A file, not a pipe: a server that another test starts meanwhile would hold the pipe open.
        let name = "/tmp/alongside-output-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        let file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw ThrowawayPostgresError(reason: "\(name) cannot be made") }
        unlink(name)
        defer { close(file) }
        let variables = environment.map { "\($0.key)=\($0.value)" }
        let pid = try spawn(
            ["/usr/bin/env", "-C", ProjectPaths.root] + variables + command,
            output: file
        )
        var ended: Int32 = 0
        while waitpid(pid, &ended, 0) < 0, errno == EINTR {}
        status = ended & 0x7F == 0 ? (ended >> 8) & 0xFF : 128 + ended & 0x7F
        let size = Int(lseek(file, 0, SEEK_END))
        let bytes = [UInt8](unsafeUninitializedCapacity: max(1, size)) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, size, 0))
        }
        output = String(decoding: bytes, as: UTF8.self)
    }

    /// Runs the Python that has the tests' pinned tools.
    ///
    /// - Parameter arguments: What follows the interpreter.
    /// - Returns: How it ended.
    /// - Throws: ``ThrowawayPostgresError`` when it cannot be started.
    public static func python(_ arguments: String...) throws -> FinishedProgram {
        try FinishedProgram([ProjectPaths.root + "/.venv/bin/python"] + arguments)
    }
}
