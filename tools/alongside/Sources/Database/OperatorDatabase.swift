internal import CLinux
internal import Glibc
internal import ServiceKit

/// The database that an operator's command is about: that of `DATABASE_URL`, else the private one of an
/// `alongside up` that runs.
struct OperatorDatabase: Sendable, Equatable {
    /// How to reach it as its owner.
    let url: String
    /// The data folder of the `up` whose private one it is; nil for one of the operator's own.
    let folder: String?
}

extension OperatorDatabase {
    /// Finds it; makes and starts nothing.
    ///
    /// - Parameter environment: `DATABASE_URL` or its file wins; `ALONGSIDE_DATA` names the data folder.
    /// - Throws: ``OperationError`` saying what to set when neither leads to a database.
    init(_ environment: [String: String]) throws(OperationError) {
        if let url = try UpSettings.owner(environment) {
            self.url = url
            folder = nil
            return
        }
        let folder = DataFolder.absolute(try UpSettings.folder(environment))
        // A folder that the database's user cannot reach says where its database lies instead.
        let places = [folder, DataFolder.text(of: folder + "/database-folder")].compactMap { $0 }
        let servers = places.compactMap { PrivateServer(data: $0 + "/postgres") }
        guard let server = servers.first(where: \.isRunning) ?? servers.first else {
            throw OperationError(
                "DATABASE_URL is missing, and \(folder) holds no private database: set "
                    + "DATABASE_URL, or ALONGSIDE_DATA to the folder of an `alongside up` that runs"
            )
        }
        guard server.isReadable else {
            throw OperationError(
                "the private database of \(folder) belongs to \(server.owner): run this as that "
                    + "user, or set DATABASE_URL"
            )
        }
        guard server.isRunning, let url = server.url else {
            throw OperationError(
                "DATABASE_URL is missing, and the private database of \(folder) does not run: "
                    + "start `alongside up`, look why it cannot start its database where it runs, or "
                    + "set DATABASE_URL"
            )
        }
        self.url = url
        self.folder = folder
    }
}

/// A private PostgreSQL as it is found by its data, whoever started it.
private struct PrivateServer {
    let owner: String
    let isReadable: Bool
    /// The lines of `postmaster.pid`, which is there while the server runs.
    private let lines: [Substring]

    /// Looks at a folder; nil when there is no data.
    init?(data: String) {
        var information = stat()
        guard stat(data, &information) == 0, let user = getpwuid(information.st_uid) else {
            return nil
        }
        owner = String(cString: user.pointee.pw_name)
        isReadable = access(data, R_OK | X_OK) == 0
        lines = (DataFolder.text(of: data + "/postmaster.pid") ?? "")
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    var isRunning: Bool {
        guard let id = lines.first.flatMap({ pid_t($0) }) else { return false }
        return kill(id, 0) == 0 || alongside_errno() == EPERM
    }

    /// As the owner of the data, who owns the database, too; the socket's folder is the fifth line.
    var url: String? {
        guard lines.count > 4, !lines[4].isEmpty else { return nil }
        return "postgresql:///alongside?host=\(lines[4])&user=\(owner)"
    }
}
