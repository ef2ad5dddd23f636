internal import CLinux
internal import Glibc

/// A program started by `alongside`; it ends when the thread that started it ends.
struct ChildProcess: Sendable {
    let id: pid_t

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: The executable, as a path.
    ///   - arguments: What follows the program's name.
    ///   - environment: The whole environment.
    ///   - logPath: Where its output is appended; nil leaves it on ours.
    ///   - user: Whom it runs as; nil keeps us.
    /// - Returns: The child.
    /// - Throws: ``OperationError`` when its log cannot be written or it cannot be started.
    static func start(
        _ path: String,
        arguments: [String],
        environment: [String: String],
        logPath: String?,
        user: SystemUser? = nil
    ) throws(OperationError) -> ChildProcess {
        var output: Int32 = -1
        if let logPath {
            output = open(logPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
            guard output >= 0 else {
                throw OperationError("cannot write \(logPath): \(lastErrorText())")
            }
        }
        defer { if output >= 0 { close(output) } }
        let texts = [path] + arguments
        let variables = environment.map { "\($0.key)=\($0.value)" }.sorted()
        let id = withCStrings(texts) { argv in
            withCStrings(variables) { envp in
                alongside_spawn(
                    path,
                    argv,
                    envp,
                    output,
                    user?.userID ?? uid_t.max,
                    user?.groupID ?? gid_t.max
                )
            }
        }
        guard id > 0 else { throw OperationError("cannot start \(path): \(lastErrorText())") }
        return ChildProcess(id: id)
    }

    /// Runs a program to its end.
    ///
    /// - Returns: Its exit code; 128 + the signal's number when a signal ended it.
    /// - Throws: ``OperationError`` when it cannot be started.
    static func run(
        _ path: String,
        arguments: [String],
        environment: [String: String],
        logPath: String?,
        user: SystemUser? = nil
    ) throws(OperationError) -> Int32 {
        let child = try start(
            path,
            arguments: arguments,
            environment: environment,
            logPath: logPath,
            user: user
        )
        var status: Int32 = 0
        while waitpid(child.id, &status, 0) < 0 {
            guard alongside_errno() == EINTR else { return 127 }
        }
        return exitCode(status)
    }

    /// Looks whether it has ended, without waiting; to be asked no more once it has.
    ///
    /// - Returns: Its exit code, as ``run(_:arguments:environment:logPath:user:)`` gives it; nil while it runs.
    func ended() -> Int32? {
        var status: Int32 = 0
        guard waitpid(id, &status, WNOHANG) == id else { return nil }
        return Self.exitCode(status)
    }

    /// Sends a signal; a process that is gone is no error.
    func signal(_ number: Int32) { kill(id, number) }

    /// Turns a status of `waitpid` into an exit code.
    static func exitCode(_ status: Int32) -> Int32 {
        status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }
}

/// A user of the machine that programs may run as.
struct SystemUser: Sendable {
    let userID: uid_t
    let groupID: gid_t

    /// Looks a user up by name.
    init?(named name: String) {
        guard let entry = getpwnam(name) else { return nil }
        userID = entry.pointee.pw_uid
        groupID = entry.pointee.pw_gid
    }
}

/// The text of the C library's last error.
func lastErrorText() -> String { String(cString: strerror(alongside_errno())) }

private func withCStrings<Result>(
    _ texts: [String],
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return pointers.withUnsafeMutableBufferPointer { buffer in
        // An array with the terminating nil is never empty, so there is a base address.
        guard let base = buffer.baseAddress else { preconditionFailure("empty argument list") }
        return body(base)
    }
}
