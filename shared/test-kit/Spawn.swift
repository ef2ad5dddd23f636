internal import Glibc

/// Starts a process with nothing of ours but the standard streams.
///
/// - Parameters:
///   - command: The program's path and its arguments.
///   - input: What it reads; nothing by default.
///   - output: Where both its outputs go; nowhere by default.
///   - ownSession: Whether it outlives a Ctrl-C in our terminal.
/// - Returns: Its process id.
/// - Throws: ``ThrowawayPostgresError`` when the program cannot be started.
func spawn(
    _ command: [String],
    input: Int32? = nil,
    output: Int32? = nil,
    ownSession: Bool = false
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
        posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    for stream in Int32(1)...2 {
        if let output {
            posix_spawn_file_actions_adddup2(&actions, output, stream)
        } else {
            posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0)
        }
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var flags = Int16(POSIX_SPAWN_SETSIGMASK)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    // POSIX_SPAWN_SETSID, which glibc hides behind _GNU_SOURCE.
    if ownSession { flags |= 0x80 }
    posix_spawnattr_setflags(&attributes, flags)
    var arguments = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var pid: pid_t = 0
    let failure = posix_spawn(&pid, command[0], &actions, &attributes, &arguments, environ)
    guard failure == 0 else {
        throw ThrowawayPostgresError(
            reason: "\(command[0]) cannot be started: \(String(cString: strerror(failure)))"
        )
    }
    return pid
}

/// Runs a command to its end; blocks.
///
/// - Throws: ``ThrowawayPostgresError`` with what it printed when it fails.
func runCommand(_ command: [String]) throws {
    // A file, not a pipe: a server started here keeps its outputs open when the command has ended.
    let name = "/tmp/alongside-command-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    let output = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw ThrowawayPostgresError(reason: "\(name) cannot be made") }
    unlink(name)
    defer { close(output) }
    let pid = try spawn(command, output: output)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    guard status != 0 else { return }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = max(0, pread(output, &bytes, bytes.count, 0))
    let text = String(decoding: bytes.prefix(count), as: UTF8.self)
    throw ThrowawayPostgresError(
        reason: "\(command.joined(separator: " ")) failed (status \(status)): \(text)"
    )
}
