internal import CLinux
internal import Glibc
internal import Synchronization

/// One running executable.
public final class LoadProcess: Sendable {
    /// Its name in the fleet.
    public let instance: String
    /// Its public port, for services that have one.
    public let port: Int
    /// The port of /ready and /metrics.
    public let internalPort: Int
    private let logPath: String
    private let id: Mutex<pid_t>

    init(
        path: String,
        arguments: [String] = [],
        instance: String,
        environment: [String: String],
        log: String,
        port: Int,
        internalPort: Int
    ) throws {
        self.instance = instance
        self.port = port
        self.internalPort = internalPort
        logPath = log
        id = Mutex(try spawnProgram(path, arguments, environment, log))
    }

    deinit { kill() }

    /// The process id; 0 once it has ended and was waited for.
    public var processID: Int32 { id.withLock { $0 } }

    /// What it has logged.
    public var log: String {
        let file = open(logPath, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = max(0, read(file, &bytes, bytes.count))
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Ends it as a crash does, and waits for its end.
    public func kill() { end(SIGKILL) }

    /// Asks it to stop, and waits for its end.
    public func terminate() { end(SIGTERM) }

    /// Stops its every thread, as a machine that hangs does.
    public func freeze() { signal(SIGSTOP) }

    /// Lets it go on.
    public func thaw() { signal(SIGCONT) }

    /// Bytes of memory that it holds, pages shared with others among them.
    public var residentBytes: Double {
        let file = open("/proc/\(processID)/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = max(0, read(file, &bytes, bytes.count))
        let words = bytes.prefix(count).split(separator: UInt8(ascii: " "))
        guard words.count > 1, let pages = Double(String(decoding: words[1], as: UTF8.self)) else {
            return 0
        }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Seconds of CPU that all its threads have used.
    public var cpuSeconds: Double {
        var clock = clockid_t()
        var time = timespec()
        guard processID > 0, clock_getcpuclockid(processID, &clock) == 0,
            clock_gettime(clock, &time) == 0
        else { return 0 }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func signal(_ number: Int32) {
        id.withLock { id in
            if id > 0 { _ = Glibc.kill(id, number) }
        }
    }

    private func end(_ number: Int32) {
        let id = id.withLock { id in
            defer { id = 0 }
            return id
        }
        guard id > 0 else { return }
        _ = Glibc.kill(id, number)
        // One that is frozen does not hear anything but KILL.
        if number == SIGKILL { _ = Glibc.kill(id, SIGCONT) }
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
    }
}

/// Starts a program with these variables alone; what it prints is appended to a file.
private func spawnProgram(
    _ path: String,
    _ arguments: [String],
    _ environment: [String: String],
    _ log: String
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var arguments: [UnsafeMutablePointer<CChar>?] =
        ([path] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var id: pid_t = 0
    let failure = posix_spawn(&id, path, &actions, &attributes, &arguments, &variables)
    guard failure == 0 else {
        throw LoadFailure("\(path) cannot be started: \(String(cString: strerror(failure)))")
    }
    return id
}

/// TCP ports that nobody uses at the moment.
enum LoadPorts {
    static func free(_ count: Int) throws -> [Int] {
        var sockets: [Int32] = []
        defer { for descriptor in sockets { close(descriptor) } }
        var ports: [Int] = []
        for _ in 0..<count {
            let descriptor = socket(
                AF_INET,
                Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
                0
            )
            guard descriptor >= 0 else { throw LoadFailure("there is no socket") }
            sockets.append(descriptor)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    bind(descriptor, generic, length) == 0
                        && getsockname(descriptor, generic, &length) == 0
                }
            }
            guard isBound else { throw LoadFailure("there is no free port") }
            ports.append(Int(UInt16(bigEndian: address.sin_port)))
        }
        return ports
    }
}
