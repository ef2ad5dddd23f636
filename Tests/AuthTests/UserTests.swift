import Database
import FoundationEssentials
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// `/api/v1/admin/users`, row by row of spec 1.3.
@Suite(.timeLimit(.minutes(3))) struct UserTests {
    private let clock = ManualClock()
    private let path = "/api/v1/admin/users"

    struct User: Decodable, Equatable {
        let id: String
        let name: String
        let email: String
        let role: String
        let active: Bool
        let createdAt: String
        let updatedAt: String
    }

    private func fields(
        name: String = "Dora Driver",
        email: String = "dora@example.org",
        role: String = "driver",
        password: String? = goodPassword
    ) -> [String: String] {
        var fields = ["name": name, "email": email, "role": role]
        fields["password"] = password
        return fields
    }

    /// Runs a test with an admin who has just logged in.
    private func withAdmin(
        _ body: (AuthProcess, AuthProcess.Tokens, TestDatabase) async throws -> Void
    ) async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let admin = try await auth.staff(email: "root@example.org", in: database)
            try await body(auth, admin, database)
        }
    }

    /// Runs a test whose calls are refused, with an admin among those of other tests.
    private func withSharedAdmin(
        _ body: (AuthProcess, AuthProcess.Tokens) async throws -> Void
    ) async throws {
        try await withSharedAuth(clock: clock) { auth, database async throws in
            let email = "root-\(UInt32.random(in: 0 ... .max))@example.org"
            try await body(auth, try await auth.staff(email: email, in: database))
        }
    }

    private func create(
        _ auth: AuthProcess,
        _ admin: AuthProcess.Tokens,
        _ fields: [String: String]
    ) async throws -> User {
        let answer = try await auth.call(.post, path, json(fields), token: admin.token)
        try #require(answer.status == 201, "\(answer.text)")
        return try answer.decoded()
    }

    @Test func `creates, shows, changes and deletes`() async throws {
        try await withAdmin { auth, admin, _ async throws in
            let answer = try await auth.call(.post, path, json(fields()), token: admin.token)
            #expect(answer.status == 201)
            let user = try answer.decoded(User.self)
            #expect(
                answer.text == """
                    {"id":"\(user.id)","name":"Dora Driver","email":"dora@example.org",\
                    "role":"driver","active":true,"created_at":"2026-02-16T16:00:00Z",\
                    "updated_at":"2026-02-16T16:00:00Z"}
                    """
            )
            #expect(UniqueID(user.id)?.description == user.id)
            let one = "\(path)/\(user.id)"
            #expect(try await auth.call(.get, one, token: admin.token).decoded() == user)
            clock.advance(by: 5)
            let change = fields(name: " D. Driver ", email: "d@example.org", password: nil)
            let changed = try await auth.call(.put, one, json(change), token: admin.token)
            #expect(changed.status == 200)
            let after = try changed.decoded(User.self)
            #expect(after.name == "D. Driver")
            #expect(after.email == "d@example.org")
            #expect(after.createdAt == user.createdAt)
            #expect(after.updatedAt == "2026-02-16T16:00:05Z")
            #expect(try await auth.logIn(email: "dora@example.org").status == 401)
            #expect(try await auth.logIn(email: "d@example.org").status == 200)
            #expect(try await auth.call(.delete, one, token: admin.token).status == 204)
            #expect(try await auth.call(.get, one, token: admin.token).status == 404)
            #expect(try await auth.call(.delete, one, token: admin.token).status == 404)
            #expect(try await auth.logIn(email: "d@example.org").status == 401)
            // The address is free again.
            _ = try await create(auth, admin, fields(email: "d@example.org"))
        }
    }

    @Test(arguments: [
        (#"{"email":"d@e","password":"12345678","role":"driver"}"#, "name is required"),
        (
            #"{"name":"","email":"d@e","password":"12345678","role":"driver"}"#,
            "name is required"
        ),
        (
            #"{"name":" \t","email":"d@e","password":"12345678","role":"driver"}"#,
            "name is required"
        ),
        (
            #"{"name":"a\nb","email":"d@e","password":"12345678","role":"driver"}"#,
            "the name has characters that are not seen"
        ),
        (
            #"{"name":"\u202eevil","email":"d@e","password":"12345678","role":"driver"}"#,
            "the name has characters that are not seen"
        ),
        (
            #"{"name":"D","email":"d\u200b@e","password":"12345678","role":"driver"}"#,
            "email is not valid"
        ),
        (#"{"name":"D","password":"12345678","role":"driver"}"#, "email is required"),
        (
            #"{"name":"D","email":" ","password":"12345678","role":"driver"}"#,
            "email is required"
        ),
        (
            #"{"name":"D","email":"d","password":"12345678","role":"driver"}"#,
            "email is not valid"
        ),
        (
            #"{"name":"D","email":"d@e@f","password":"12345678","role":"admin"}"#,
            "email is not valid"
        ),
        (
            #"{"name":"D","email":"d @e","password":"12345678","role":"admin"}"#,
            "email is not valid"
        ),
        (#"{"name":"D","email":"d@e","role":"driver"}"#, "password is required"),
        (
            #"{"name":"D","email":"d@e","password":"1234567","role":"driver"}"#,
            "password must be at least 8 characters"
        ),
        (#"{"name":"D","email":"d@e","password":"12345678"}"#, "role must be 'driver' or 'admin'"),
        (
            #"{"name":"D","email":"d@e","password":"12345678","role":"member"}"#,
            "role must be 'driver' or 'admin'"
        ),
        (
            #"{"name":"D","email":"d@e","password":"12345678","role":"Admin"}"#,
            "role must be 'driver' or 'admin'"
        ),
        (#"{"name":7}"#, #"field "name" has invalid type"#),
        (
            #"{"name":"D","email":"d@e","password":"12345678","role":"driver","active":true}"#,
            #"invalid JSON: unknown field "active""#
        ),
        ("", "invalid JSON: "),
        (
            #"{"name":"D"} {}"#,
            "invalid JSON: request body must contain a single JSON object and no trailing data"
        ),
    ])
    func `refuses a bad creation with its own sentence`(body: String, error: String) async throws {
        try await withSharedAdmin { auth, admin async throws in
            let answer = try await auth.call(.post, path, body, token: admin.token)
            #expect(answer.status == 400)
            #expect(answer.refusal?.error.hasPrefix(error) == true, "\(answer.text)")
        }
    }

    @Test func `a name has at most 100 characters, a password 1,024 bytes`() async throws {
        try await withAdmin { auth, admin, _ async throws in
            let name = String(repeating: "é", count: 100)
            var wanted = fields(name: name, password: String(repeating: "x", count: 1024))
            #expect(try await create(auth, admin, wanted).name == name)
            wanted["name"] = name + "x"
            var answer = try await auth.call(.post, path, json(wanted), token: admin.token)
            #expect(answer.refusal?.error == "name must be at most 100 characters")
            wanted = fields(email: "e@f", password: String(repeating: "x", count: 1025))
            answer = try await auth.call(.post, path, json(wanted), token: admin.token)
            #expect(answer.refusal?.error == "password must be at most 1024 bytes")
        }
    }

    @Test func `an address is of one of the staff, in whatever case`() async throws {
        try await withAdmin { auth, admin, _ async throws in
            let dora = try await create(auth, admin, fields())
            let eve = try await create(auth, admin, fields(email: "eve@example.org"))
            for email in ["DORA@example.org", "root@example.org"] {
                let body = json(fields(email: email))
                let created = try await auth.call(.post, path, body, token: admin.token)
                #expect(created.status == 409)
                #expect(created.refusal?.error == "email already exists")
                let one = "\(path)/\(eve.id)"
                let changed = try await auth.call(.put, one, body, token: admin.token)
                #expect(changed.status == 409)
                #expect(changed.refusal?.error == "email already exists")
            }
            // One's own address in another case is no conflict.
            let body = json(fields(email: "Dora@Example.org", password: nil))
            let own = try await auth.call(.put, "\(path)/\(dora.id)", body, token: admin.token)
            #expect(own.status == 200)
        }
    }

    /// Nobody proves an address at a sign-up; an admin knows the staff.
    @Test(arguments: [HTTPMethod.post, .put])
    func `an address that a member has claimed is given to staff`(method: HTTPMethod) async throws {
        try await withAdmin { auth, admin, database async throws in
            let member = try await auth.member("ada", email: "Dora@Example.org")
            let other = try await auth.member("eve", email: "eve@example.org")
            var answer: HTTPClientResponse
            if method == .post {
                answer = try await auth.call(.post, path, json(fields()), token: admin.token)
                #expect(answer.status == 201)
            } else {
                let eve = try await create(auth, admin, fields(email: "d@example.org"))
                let one = "\(path)/\(eve.id)"
                answer = try await auth.call(.put, one, json(fields()), token: admin.token)
                #expect(answer.status == 200)
            }
            let dora = try answer.decoded(User.self)
            #expect(dora.email == "dora@example.org")
            let logIn = try await auth.tokens(email: "dora@example.org")
            #expect(logIn.accountId == dora.id)
            // The member's account goes on, by its handle.
            #expect(try await auth.accepts(member.token))
            #expect(try await auth.tokens(handle: "ada").accountId == member.accountId)
            answer = try await auth.call(.get, "/api/me", token: member.token)
            #expect(try answer.decoded(AuthProcess.Me.self).email == nil)
            #expect(try await auth.tokens(email: "eve@example.org").accountId == other.accountId)
            // What staff have nobody signs up with.
            let late = try await auth.signUp("bob", email: "DORA@example.org")
            #expect(late.refusal?.code == "email.taken")
            #expect(try await !AuthDump(database).text.contains("Dora@Example.org"))
        }
    }

    @Test func `lists the newest first, in pages`() async throws {
        try await withAdmin { auth, admin, database async throws in
            for number in 1...60 {
                try await addStaff(
                    .driver,
                    email: "d\(number)@example.org",
                    in: database,
                    at: clock.now + Int64(number)
                )
            }
            _ = try await auth.member("ada")
            func page(_ query: String) async throws -> [String] {
                let answer = try await auth.call(.get, path + query, token: admin.token)
                #expect(answer.status == 200)
                #expect(answer.headers.first("Cache-Control") == "no-store")
                #expect(answer.text.hasPrefix("["))
                return try answer.decoded([User].self).map(\.email)
            }
            let all = (1...60).reversed().map { "d\($0)@example.org" } + ["root@example.org"]
            #expect(try await page("") == Array(all.prefix(50)))
            #expect(try await page("?limit=1") == Array(all.prefix(1)))
            #expect(try await page("?limit=200") == all)
            #expect(try await page("?limit=20&offset=50") == Array(all.dropFirst(50)))
            #expect(try await page("?offset=61").isEmpty)
            #expect(try await page("?offset=2147483647").isEmpty)
        }
    }

    @Test(arguments: [
        "limit=0", "limit=201", "limit=-1", "limit=x", "limit=", "limit=1.5", "limit=+1",
        "limit=99999999999999999999", "offset=-1", "offset=2147483648", "offset=x",
    ])
    func `refuses a page that cannot be`(query: String) async throws {
        try await withSharedAdmin { auth, admin async throws in
            let answer = try await auth.call(.get, "\(path)?\(query)", token: admin.token)
            #expect(answer.status == 400)
        }
    }

    @Test(arguments: ["0", "-1", "x", "7d1d0000-0000-4000-8000-000000000001", "member"])
    func `an id of nobody on the staff is 404`(id: String) async throws {
        try await withSharedAdmin { auth, admin async throws in
            let member = try await auth.somebody()
            let one = "\(path)/\(id == "member" ? member.accountId : id)"
            for answer in [
                try await auth.call(.get, one, token: admin.token),
                try await auth.call(.put, one, json(fields()), token: admin.token),
                try await auth.call(.delete, one, token: admin.token),
            ] {
                #expect(answer.status == 404)
                #expect(answer.refusal == .init(error: "user not found", code: "user.not_found"))
            }
            #expect(try await auth.accepts(member.token))
        }
    }

    // MARK: - Rights

    @Test func `only admins may`() async throws {
        try await withAdmin { auth, admin, database async throws in
            let driver = try await auth.staff(.driver, email: "dora@example.org", in: database)
            let member = try await auth.member("ada")
            let rider = TestTokens(clock: clock.application).token(.rider)
            let body = json(fields(email: "new@example.org"))
            let calls: [(HTTPMethod, String, String?)] = [
                (.get, path, nil), (.post, path, body), (.get, "\(path)/\(driver.accountId)", nil),
                (.put, "\(path)/\(driver.accountId)", body),
                (.delete, "\(path)/\(driver.accountId)", nil),
            ]
            for (method, path, body) in calls {
                let anyone = try await auth.call(method, path, body)
                #expect(anyone.status == 401)
                #expect(anyone.refusal?.error == "missing or invalid authorization header")
                let asDriver = try await auth.call(method, path, body, token: driver.token)
                #expect(asDriver.status == 403)
                #expect(asDriver.refusal?.error == "admin access required")
                for token in [member.token, rider] {
                    let other = try await auth.call(method, path, body, token: token)
                    #expect(other.status == 403)
                    #expect(other.refusal?.error == "forbidden")
                }
            }
            #expect(try await auth.accepts(driver.token))
        }
    }

    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var fields: [String: String] = ["name": "D", "email": "dora@example.org"]
        var isActive: Bool?
        let endsSessions: Bool

        init(
            _ description: String,
            role: String = "driver",
            password: String? = nil,
            isActive: Bool? = nil,
            endsSessions: Bool
        ) {
            testDescription = description
            fields["role"] = role
            fields["password"] = password
            self.isActive = isActive
            self.endsSessions = endsSessions
        }

        var body: String {
            let text = json(fields)
            return isActive.map { text.dropLast() + ",\"active\":\($0)}" } ?? text
        }

        static let all = [
            Change("a name", endsSessions: false),
            Change("nothing, said expressly", isActive: true, endsSessions: false),
            Change("a promotion", role: "admin", endsSessions: true),
            Change("a password", password: "a new password", endsSessions: true),
            Change("a deactivation", isActive: false, endsSessions: true),
        ]
    }

    @Test(arguments: Change.all)
    func `a change of rights ends sessions at once`(change: Change) async throws {
        try await withAdmin { auth, admin, database async throws in
            let driver = try await auth.staff(.driver, email: "dora@example.org", in: database)
            let one = "\(path)/\(driver.accountId)"
            let answer = try await auth.call(.put, one, change.body, token: admin.token)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await auth.accepts(driver.token) == !change.endsSessions)
            let refreshed = try await auth.refresh(driver.refreshToken)
            #expect(refreshed.status == (change.endsSessions ? 401 : 200))
            let back = try await auth.logIn(
                email: "dora@example.org",
                password: change.fields["password"] ?? goodPassword
            )
            guard change.isActive != false else { return #expect(back.status == 401) }
            // Within the same second, with the new rights.
            let tokens = try back.decoded(AuthProcess.Tokens.self)
            #expect(tokens.role == change.fields["role"])
            #expect(try await auth.accepts(tokens.token))
        }
    }

    @Test func `who was switched off can be switched on again`() async throws {
        try await withAdmin { auth, admin, database async throws in
            let driver = try await auth.staff(.driver, email: "dora@example.org", in: database)
            let one = "\(path)/\(driver.accountId)"
            let off = Change("off", isActive: false, endsSessions: true)
            let answer = try await auth.call(.put, one, off.body, token: admin.token)
            #expect(try answer.decoded(User.self).active == false)
            // Other changes leave that as it is.
            let name = Change("a name", endsSessions: false)
            let same = try await auth.call(.put, one, name.body, token: admin.token)
            #expect(try same.decoded(User.self).active == false)
            let on = Change("on", isActive: true, endsSessions: false)
            #expect(try await auth.call(.put, one, on.body, token: admin.token).status == 200)
            let back = try await auth.tokens(email: "dora@example.org")
            #expect(try await auth.accepts(back.token))
            #expect(try await !auth.accepts(driver.token))
        }
    }

    /// Case 75 of the circles' spec.
    @Test func `an admin does not delete the own account in passing`() async throws {
        try await withAdmin { auth, admin, database async throws in
            let other = try await auth.staff(.admin, email: "olga@example.org", in: database)
            let own = try await auth.call(
                .delete,
                "\(path)/\(other.accountId)",
                token: other.token
            )
            #expect(own.status == 400)
            #expect(own.text.contains("\"code\":\"user.own_account\""))
            #expect(try await auth.accepts(other.token))
            let unknown = "\(path)/\(UniqueID.random())"
            #expect(try await auth.call(.delete, unknown, token: other.token).status == 404)
            let one = "\(path)/\(other.accountId)"
            #expect(try await auth.call(.delete, one, token: admin.token).status == 204)
        }
    }

    @Test func `a deletion ends sessions at once`() async throws {
        try await withAdmin { auth, admin, database async throws in
            let driver = try await auth.staff(.driver, email: "dora@example.org", in: database)
            let one = "\(path)/\(driver.accountId)"
            #expect(try await auth.call(.delete, one, token: admin.token).status == 204)
            #expect(try await !auth.accepts(driver.token))
            #expect(try await auth.refresh(driver.refreshToken).status == 401)
            #expect(try await !AuthDump(database).text.contains(driver.accountId))
        }
    }
}
