import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// The first admin, from the settings or from the command line (spec 1.2).
@Suite(.timeLimit(.minutes(3))) struct BootstrapTests {
    private let clock = ManualClock()
    private let settings = [
        "ADMIN_BOOTSTRAP_EMAIL": "root@example.org", "ADMIN_BOOTSTRAP_PASSWORD": goodPassword,
    ]

    private func admins(_ database: TestDatabase) async throws -> [String] {
        try await database.query { connection throws(DatabaseError) in
            var emails: [String] = []
            for row in try connection.query(
                "SELECT email FROM auth.accounts WHERE role = 'admin' ORDER BY email"
            ) { emails.append(try row.text(0)) }
            return emails
        }
    }

    @Test func `makes an admin who can log in, once`() async throws {
        let database = try await authDatabase()
        try await withAuth(settings, clock: clock, database: database) { auth async throws in
            let tokens = try await auth.tokens(email: "ROOT@example.org")
            #expect(tokens.role == "admin")
        }
        // Later the settings say nothing any more, whatever they are.
        let others = [
            "ADMIN_BOOTSTRAP_EMAIL": "other@example.org", "ADMIN_BOOTSTRAP_PASSWORD": "password 2",
        ]
        try await withAuth(others, clock: clock, database: database) { auth async throws in
            #expect(try await auth.logIn(email: "other@example.org").status == 401)
            #expect(try await auth.logIn(email: "root@example.org").status == 200)
        }
        #expect(try await admins(database) == ["root@example.org"])
    }

    /// What a start tells its operator before auth runs.
    @Test func `who is there already is told apart from who will be made`() async throws {
        let database = try await authDatabase()
        let pool = database.open(connections: 1, role: Auth.schema.role)
        func standing(
            _ email: String,
            _ password: String?
        ) async throws -> StaffAccounts.AdminStanding {
            try await StaffAccounts.standing(ofFirstAdmin: email, password: password, in: pool)
        }
        try await addStaff(.driver, email: "driver@example.org", in: database)
        #expect(try await standing("root@example.org", goodPassword) == .noneYet)
        try await addStaff(email: "root@example.org", in: database)
        #expect(try await standing("Root@example.org", goodPassword) == .exists(passwordFits: true))
        #expect(try await standing("root@example.org", "12345678") == .exists(passwordFits: false))
        #expect(try await standing("root@example.org", nil) == .exists(passwordFits: false))
        #expect(try await standing("boss@example.org", goodPassword) == .others)
        #expect(try await standing("driver@example.org", goodPassword) == .others)
        await pool.close()
    }

    @Test func `of replicas that start at once, one makes it`() async throws {
        let database = try await authDatabase()
        try await withThrowingTaskGroup { group in
            for number in 0..<4 {
                group.addTask {
                    var settings = settings
                    settings["ADMIN_BOOTSTRAP_EMAIL"] = "root\(number)@example.org"
                    try await withAuth(settings, clock: clock, database: database) { _ in }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await admins(database).count == 1)
    }

    @Test func `says so when the address is another account's`() async throws {
        let database = try await authDatabase()
        try await addStaff(.driver, email: "root@example.org", in: database)
        let error = await #expect(throws: BootstrapAdmin.Fault.self) {
            try await withAuth(settings, clock: clock, database: database) { _ in }
        }
        #expect(error?.description.contains("ADMIN_BOOTSTRAP_EMAIL") == true)
        #expect(error?.description.contains("root@example.org") == false)
        #expect(try await admins(database).isEmpty)
    }

    @Test(arguments: [
        (["ADMIN_BOOTSTRAP_EMAIL": "root@example.org"], "set both or neither"),
        (["ADMIN_BOOTSTRAP_PASSWORD": "12345678"], "set both or neither"),
        (["ADMIN_BOOTSTRAP_PASSWORD": "1234567"], "at least 8 bytes"),
        (
            [
                "ADMIN_BOOTSTRAP_EMAIL": "root@example.org",
                "ADMIN_BOOTSTRAP_PASSWORD": String(repeating: "x", count: 1025),
            ],
            "at most 1024 bytes"
        ),
        (["ADMIN_BOOTSTRAP_EMAIL": "root"], "an e-mail address"),
    ])
    func `settings that cannot work stop the start`(
        environment: [String: String],
        sentence: String
    ) throws {
        var environment = environment
        environment["DATABASE_URL"] = "postgresql:///x"
        environment["JWT_SECRET"] = TestTokens.secret.revealed()
        let error = #expect(throws: SettingsError.self) {
            try Auth.definition.table.read(environment: environment)
        }
        #expect(error?.description.contains(sentence) == true, "\(error?.description ?? "")")
    }

    @Test func `the printed configuration hides the password`() throws {
        var environment = settings
        environment["DATABASE_URL"] = "postgresql:///x"
        environment["JWT_SECRET"] = TestTokens.secret.revealed()
        let table = Auth.definition.table
        let printed = try table.read(environment: environment).printed(table)
        #expect(printed.contains("ADMIN_BOOTSTRAP_PASSWORD=<hidden>"))
        #expect(!printed.contains(goodPassword))
    }

    // MARK: - From the command line

    private func add(
        _ role: StaffAccounts.StaffRole,
        _ email: String,
        name: String = "Root",
        password: String = goodPassword,
        to database: TestDatabase
    ) async throws -> UniqueID {
        let pool = database.open(connections: 1, role: Auth.schema.role)
        let result: Result<UniqueID, any Error>
        do {
            result = .success(
                try await StaffAccounts.add(
                    role,
                    email: email,
                    name: name,
                    password: password,
                    at: clock.now,
                    to: pool
                )
            )
        } catch {
            result = .failure(error)
        }
        await pool.close()
        return try result.get()
    }

    @Test func `neither the first admin nor staff added by hand fail for a member's claim`()
        async throws
    {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            _ = try await auth.member("ada", email: "root@example.org")
            _ = try await auth.member("eve", email: "dora@example.org")
        }
        try await withAuth(settings, clock: clock, database: database) { auth async throws in
            #expect(try await auth.tokens(email: "root@example.org").role == "admin")
            let id = try await add(.driver, "Dora@example.org", to: database)
            #expect(try await auth.tokens(email: "dora@example.org").accountId == id.description)
            for handle in ["ada", "eve"] { _ = try await auth.tokens(handle: handle) }
        }
    }

    @Test(arguments: StaffAccounts.StaffRole.allCases)
    func `staff added by hand log in like others`(role: StaffAccounts.StaffRole) async throws {
        let database = try await authDatabase()
        let id = try await add(role, "Root@example.org", to: database)
        try await withAuth(clock: clock, database: database) { auth async throws in
            let tokens = try await auth.tokens(email: "root@example.org")
            #expect(tokens.accountId == id.description)
            #expect(tokens.role == role.rawValue)
        }
    }

    @Test(arguments: [
        ("root", "Root", goodPassword, "root is no e-mail address"),
        ("root@example.org", " ", goodPassword, "the name must have 1 to 100 characters"),
        ("root@example.org", "Root", "1234567", "password must be at least 8 characters"),
        ("root@example.org", "Root", "1234567\u{0}", "password must not contain U+0000"),
        (
            "TAKEN@example.org", "Root", goodPassword,
            "an account with the address TAKEN@example.org exists already"
        ),
    ])
    func `what may not be is refused with a sentence`(
        email: String,
        name: String,
        password: String,
        sentence: String
    ) async throws {
        let database = try await authDatabase()
        try await addStaff(.driver, email: "taken@example.org", in: database)
        let error = await #expect(throws: StaffAccounts.Fault.self) {
            try await add(.admin, email, name: name, password: password, to: database)
        }
        #expect(error?.description == sentence)
        #expect(try await admins(database).isEmpty)
    }
}
