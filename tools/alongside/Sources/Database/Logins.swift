internal import Database
internal import ServiceKit

/// The roles that services log in as, each with the password of its own file.
struct Logins: Sendable {
    fileprivate struct Login: Sendable {
        let role: String
        /// nil where the server asks for none.
        let password: String?
    }

    private let logins: [Login]

    /// Reads the files that `alongside secrets` makes.
    ///
    /// - Throws: ``OperationError`` naming the file that is missing or says something else.
    init(folder path: String) throws(OperationError) {
        let folder = SecretsFolder(path: path)
        var logins: [Login] = []
        for service in Fleet.definitions {
            let file = folder.file(service.name, SecretsFolder.databaseURL)
            guard let url = folder.value(service.name, SecretsFolder.databaseURL) else {
                throw OperationError("\(file) is missing; run `alongside secrets \(path)`")
            }
            guard let login = Self.login(url), login.role == service.loginRole else {
                throw OperationError(
                    "\(file) must be postgresql://\(service.loginRole):PASSWORD@HOST/DATABASE, the "
                        + "password of letters and digits"
                )
            }
            logins.append(login)
        }
        self.logins = logins
    }

    /// The roles without passwords: a socket that nobody else reaches asks for none.
    static let local = Logins(
        logins: Fleet.definitions.map { Login(role: $0.loginRole, password: nil) }
    )

    private init(logins: [Login]) { self.logins = logins }

    /// Lets each role log in with its password; running it again changes passwords that differ.
    ///
    /// - Parameter url: The database, as its owner.
    /// - Throws: `DatabaseError`.
    func allow(in url: String) async throws {
        let database = Database(
            DatabaseConfiguration(url: url, connections: 1, applicationName: "alongside-migrate")
        )
        let result: Result<Void, DatabaseError>
        do throws(DatabaseError) {
            for login in logins { try await login.allow(in: database) }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await database.close()
        try result.get()
    }

    private static func login(_ url: String) -> Login? {
        guard let match = url.wholeMatch(of: #/postgresql://([a-z_]+):([A-Za-z0-9]+)@.+/#) else {
            return nil
        }
        return Login(role: String(match.1), password: String(match.2))
    }
}

extension Logins.Login {
    /// Roles are the whole server's: where another database's command writes the same one, PostgreSQL
    /// refuses the second writer instead of letting it wait.
    fileprivate func allow(in database: Database) async throws(DatabaseError) {
        for _ in 0..<20 {
            do throws(DatabaseError) {
                return try await database.withConnection(allow)
            } catch  where Self.metAnother(error) {
                try? await Task.sleep(for: .milliseconds(.random(in: 5...50)))
            }
        }
        try await database.withConnection(allow)
    }

    /// A role's name and its password cannot be parameters; both are of plain characters.
    private func allow(on connection: Connection) throws(DatabaseError) {
        let found = try connection.query(
            "SELECT rolcanlogin FROM pg_roles WHERE rolname = $1",
            [.text(role)]
        ).first
        if found == nil { try connection.script("CREATE ROLE \(role)") }
        if password == nil, try found?.bool(0) == true { return }
        let secret = password.map { " PASSWORD '\($0)'" } ?? ""
        try connection.script("ALTER ROLE \(role) LOGIN\(secret)")
    }

    private static func metAnother(_ error: DatabaseError) -> Bool {
        error.isUniqueViolation || error.sqlState == "42710"
            || error.message.contains("tuple concurrently updated")
    }
}

extension PrivatePostgres {
    /// Has a service log in as its own role, as in a fleet, so that a grant that is missing shows here.
    ///
    /// - Parameters:
    ///   - service: The service to be started.
    ///   - environment: What it gets; a database that the operator names for it stays.
    func logIn(_ service: ServiceDefinition, with environment: inout [String: String]) {
        let key = service.environmentName + "_DATABASE_URL"
        guard environment[key] == nil, environment[key + "_FILE"] == nil else { return }
        environment[key] = url(as: service.loginRole)
        environment["DATABASE_URL"] = nil
    }
}
