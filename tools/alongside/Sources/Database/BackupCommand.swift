internal import Glibc
internal import ServiceKit

/// `alongside backup FOLDER` and `alongside restore FOLDER`: the scripts of `deploy/` for the database and the keys of an `up`.
enum BackupCommand {
    /// Backs up an `up` that runs; it goes on.
    ///
    /// - Parameters:
    ///   - path: The folder to be made.
    ///   - environment: Names the database (``OperatorDatabase``) and the data folder.
    /// - Throws: ``OperationError`` saying what is missing, or that the script failed.
    static func backup(
        to path: String,
        _ environment: [String: String]
    ) throws(OperationError) {
        let database = try OperatorDatabase(environment)
        let keys = DataFolder.absolute(try UpSettings.folder(environment)) + "/keys"
        guard access(keys, R_OK | X_OK) == 0 else {
            throw OperationError(
                "cannot read \(keys): \(lastErrorText()); set ALONGSIDE_DATA to the folder of the "
                    + "`alongside up`, or use deploy/backup"
            )
        }
        try run("backup", [path, keys], on: database.url, environment)
    }

    /// Brings a backup into a data folder that is new, while no `up` uses it.
    ///
    /// - Parameters:
    ///   - path: What ``backup(to:_:)`` made.
    ///   - environment: Names the data folder, and the database where it is no private one.
    /// - Throws: ``OperationError`` saying what is in the way, or that the script failed.
    static func restore(
        from path: String,
        _ environment: [String: String]
    ) throws(OperationError) {
        let own = try UpSettings.owner(environment)
        // Before anything is made: an empty product in place of the old one would start without a word.
        try run("restore", ["--check", path], on: "", environment)
        let folder = try DataFolder(opening: UpSettings.folder(environment))
        let lock = try folder.lock(port: UpSettings.port(environment))
        defer { close(lock) }
        let arguments = [path, folder.keys]
        if let own { return try run("restore", arguments, on: own, environment) }

        let postgres = try PrivatePostgres(in: folder)
        let temporary = try TemporaryFolders(of: folder, postgres)
        defer { temporary.remove() }
        _ = try postgres.start()
        defer { try? postgres.stop() }
        try postgres.makeDatabase()
        try run("restore", arguments, on: postgres.url, environment)
    }

    private static func run(
        _ script: String,
        _ arguments: [String],
        on url: String,
        _ environment: [String: String]
    ) throws(OperationError) {
        let path = try Installation(environment: environment).script(script)
        let code = try ChildProcess.run(
            path,
            arguments: arguments,
            environment: environment.merging(["DATABASE_URL": url]) { $1 },
            logPath: nil
        )
        guard code == 0 else { throw OperationError("\(path) ended with code \(code)") }
    }
}
