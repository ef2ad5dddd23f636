internal import AuthService
internal import Database
internal import ServiceKit
internal import Transit

/// `alongside user add`: an account of staff, made beside the running services.
struct UserCommand {
    static let usage =
        "user add takes --role admin|driver --email ADDRESS [--name NAME] [--generate]"

    let role: StaffAccounts.StaffRole
    let email: String
    let name: String
    /// Whether a password is made and shown once; otherwise it is read.
    let generates: Bool

    /// Reads what follows `user add`.
    ///
    /// - Throws: ``OperationError`` saying what is missing or unknown.
    init(arguments: [String]) throws(OperationError) {
        let options = ["role", "email", "name"].map { CommandLineOption($0, takesValue: true) }
        let line: CommandLineArguments
        do {
            line = try CommandLineArguments(
                arguments,
                options: options + [CommandLineOption("generate")]
            )
        } catch {
            throw OperationError("\(error); \(Self.usage)")
        }
        guard line.positional.isEmpty,
            let role = line.value(of: "role").flatMap(StaffAccounts.StaffRole.init),
            let email = line.value(of: "email")
        else { throw OperationError(Self.usage) }
        self.role = role
        self.email = email
        name = line.value(of: "name") ?? email
        generates = line.has("generate")
    }

    /// Makes the account.
    ///
    /// - Parameters:
    ///   - environment: Names the database (``OperatorDatabase``).
    ///   - say: Prints what was done; a password that was made is shown here and nowhere else.
    /// - Throws: ``OperationError`` saying what to do next.
    func run(
        environment: [String: String],
        say: (String) -> Void
    ) throws(OperationError) {
        let url = try OperatorDatabase(environment).url
        let password = generates ? Self.randomPassword() : try PasswordInput.read()
        let id = try add(password, url)
        say("\(role.rawValue) \(email) added, id \(id)")
        if generates { say("password \(password)") }
    }

    private func add(_ password: String, _ url: String) throws(OperationError) -> UniqueID {
        let (role, email, name) = (role, email, name)
        let client = "alongside-user"
        let added = BlockingWait.run(on: url, as: Auth.schema, called: client) { database in
            try await StaffAccounts.add(
                role,
                email: email,
                name: name,
                password: password,
                at: try await FleetClock.clock(in: database).now(),
                to: database
            )
        }
        switch added {
        case .success(let id): return id
        case .failure(let fault as StaffAccounts.Fault): throw OperationError(fault.description)
        case .failure(let error as DatabaseError) where error.kind == .connection:
            throw OperationError(unreachable: error)
        case .failure(let error): throw OperationError("the account is not stored: \(error)")
        }
    }

    /// 120 random bits without letters that are mistaken for each other.
    private static func randomPassword() -> String {
        let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
        var generator = SystemRandomNumberGenerator()
        let groups = (0..<6).map { _ in
            String((0..<4).map { _ in letters[Int.random(in: 0..<32, using: &generator)] })
        }
        return groups.joined(separator: "-")
    }
}
