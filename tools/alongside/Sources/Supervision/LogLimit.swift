internal import CLinux
internal import Glibc

/// Keeps the log of a running program from growing without bound.
///
/// The program holds the file open and appends to it, so the file is copied and emptied rather than
/// renamed. Lines written between the two are lost.
enum LogLimit {
    /// How large a log may grow; one older file of about this size is kept beside it.
    static let bytes = 10 << 20

    /// Where the older lines of a log are.
    static func older(_ path: String) -> String { path + ".1" }

    /// Moves a log's lines to the older file when it has outgrown its limit.
    ///
    /// A copy that fails, for instance on a full disk, leaves no older file; the log is emptied all
    /// the same.
    ///
    /// - Parameters:
    ///   - path: The log; one that does not exist is no error.
    ///   - limit: Bytes that it may have.
    static func hold(_ path: String, to limit: Int = Self.bytes) {
        var information = stat()
        guard stat(path, &information) == 0, information.st_size > limit else { return }
        unlink(older(path))
        copy(path, to: older(path), like: information)
        truncate(path, 0)
    }

    private static func copy(_ path: String, to target: String, like original: stat) {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { return }
        defer { close(source) }
        let descriptor = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        fchown(descriptor, original.st_uid, original.st_gid)
        var count: Int
        repeat {
            count = sendfile(descriptor, source, nil, 1 << 20)
        } while count > 0
        if count < 0 { unlink(target) }
    }
}
