internal import Glibc

/// The folders below `/tmp` that hold a data folder's sockets while it is in use.
struct TemporaryFolders: Sendable {
    let sockets: String
    let database: String?

    /// Names them, and writes the names down for who clears up after a crash.
    ///
    /// - Throws: ``OperationError`` when the data folder cannot be written.
    init(of folder: DataFolder, _ postgres: PrivatePostgres?) throws(OperationError) {
        sockets = PrivateFolder.sockets(of: folder.path)
        database = postgres?.socketFolder
        let names = [sockets, database].compactMap { $0 }.map { $0 + "\n" }.joined()
        try DataFolder.write(names, to: folder.path + "/temporary-folders", mode: 0o644)
    }

    /// Removes them; the database's stays as long as its server has a socket there.
    func remove() {
        PrivateFolder.empty(sockets)
        rmdir(sockets)
        if let database { rmdir(database) }
    }
}
