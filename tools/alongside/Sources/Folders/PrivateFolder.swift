internal import CLinux
internal import FoundationEssentials
internal import Glibc

/// Folders that nobody else may enter, at short paths: a Unix socket's path holds 107 bytes.
enum PrivateFolder {
    /// The folder for the bus's sockets.
    static func sockets(of data: String) -> String {
        "/tmp/alongside-\(PrivatePostgres.fingerprint(data))-bus"
    }

    /// Makes a folder for one user; a folder or link that somebody else put there is refused.
    static func make(_ path: String, owner: uid_t, group: gid_t) throws(OperationError) {
        if mkdir(path, 0o700) != 0, alongside_errno() != EEXIST {
            throw OperationError("cannot make the folder \(path): \(lastErrorText())")
        }
        var information = stat()
        guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR,
            [owner, geteuid()].contains(information.st_uid)
        else {
            throw OperationError("\(path) belongs to somebody else; remove it")
        }
        guard chmod(path, 0o700) == 0, information.st_uid == owner || chown(path, owner, group) == 0
        else { throw OperationError("cannot take over \(path): \(lastErrorText())") }
    }

    /// Removes the files of a folder, not the folders in it.
    static func empty(_ path: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            unlink(path + "/" + name)
        }
    }
}
