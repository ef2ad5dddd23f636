import Database
import Messages
import ServiceKit
import Synchronization
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// `GET /api/me`, `GET /api/me/export` and `DELETE /api/me` (architecture section 12).
@Suite(.timeLimit(.minutes(3))) struct ProfileTests {
    private let clock = ManualClock()

    @Test func `says who the caller is and nothing else`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let member = try await auth.member("Ada", email: "Ada@example.org")
            let answer = try await auth.call(.get, "/api/me", token: member.token)
            #expect(answer.status == 200)
            #expect(answer.headers.first("Cache-Control") == "no-store")
            #expect(
                answer.text == """
                    {"id":"\(member.accountId)","handle":"Ada","email":"Ada@example.org",\
                    "role":"member","created_at":"2026-02-16T16:00:00Z"}
                    """
            )
            let driver = try await auth.staff(.driver, email: "dora@example.org", in: database)
            let me = try await auth.call(.get, "/api/me", token: driver.token)
                .decoded(AuthProcess.Me.self)
            #expect(me.id == driver.accountId)
            #expect(me.handle == nil)
            #expect(me.role == "driver")
        }
    }

    @Test func `exports all that is stored, but no proof of who it is`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let member = try await auth.member("Ada")
            clock.advance(by: 60)
            let next = try await auth.refresh(member.refreshToken)
                .decoded(AuthProcess.Tokens.self)
            let answer = try await auth.call(.get, "/api/me/export", token: next.token)
            #expect(answer.status == 200)
            #expect(
                answer.text == """
                    {"account":{"id":"\(member.accountId)","handle":"Ada","email":null,\
                    "role":"member","created_at":"2026-02-16T16:00:00Z","name":"",\
                    "updated_at":"2026-02-16T16:00:00Z"},"sessions":[{"kind":"app",\
                    "started_at":"2026-02-16T16:00:00Z","used_at":"2026-02-16T16:01:00Z",\
                    "expires_at":"2026-02-23T16:01:00Z"}]}
                    """
            )
        }
    }

    @Test func `exports what other services store as well, or nothing`() async throws {
        let database = try await authDatabase()
        let isAway = Atomic(false)
        let groups = ExportSource(name: "groups") { account in
            isAway.load(ordering: .relaxed) ? nil : Array("{\"of\":\"\(account)\"}".utf8)
        }
        try await withAuth(clock: clock, database: database, exports: [groups]) {
            auth async throws in
            let member = try await auth.member("Ada")
            let answer = try await auth.call(.get, "/api/me/export", token: member.token)
            #expect(answer.text.hasSuffix(",\"groups\":{\"of\":\"\(member.accountId)\"}}"))
            isAway.store(true, ordering: .relaxed)
            let refused = try await auth.call(.get, "/api/me/export", token: member.token)
            #expect(refused.status == 503)
            #expect(refused.text.contains("\"code\":\"export.unavailable\""))
            #expect(refused.headers.first("Retry-After") == "2")
        }
    }

    @Test func `exports of groups come a page at a time, whole or not at all`() async throws {
        let pages = ["{\"a\":[1", ",2]", "}"]
        let breaksAt = Atomic(-1)
        let groups = ExportSource.groups { request in
            guard case .exportAccount(_, let after) = request.body else { return nil }
            let number = after.flatMap { Int($0) } ?? 0
            guard number != breaksAt.load(ordering: .relaxed) else { return .refused(.unavailable) }
            return .exported(
                ExportPage(
                    json: Array(pages[number].utf8),
                    next: number + 1 < pages.count ? "\(number + 1)" : nil
                )
            )
        }
        let account = UniqueID.random()
        #expect(
            await groups.read(account).map { String(decoding: $0, as: UTF8.self) }
                == pages.joined()
        )
        for number in pages.indices {
            breaksAt.store(number, ordering: .relaxed)
            #expect(await groups.read(account) == nil)
        }
    }

    @Test func `an account may export five times in a minute`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let (ada, ben) = (try await auth.member("Ada"), try await auth.member("Ben"))
            for _ in 0..<5 {
                let answer = try await auth.call(.get, "/api/me/export", token: ada.token)
                #expect(answer.status == 200)
            }
            let refused = try await auth.call(.get, "/api/me/export", token: ada.token)
            #expect(refused.status == 429)
            #expect(refused.text.contains("\"code\":\"rate.exports\""))
            #expect(refused.headers.first("Retry-After") != nil)
            #expect(try await auth.call(.get, "/api/me/export", token: ben.token).status == 200)
            // Who may be forgotten does not stand in the table of attempts.
            let attempts = try await AuthDump(database).rows["attempts"] ?? []
            #expect(!attempts.isEmpty)
            #expect(!attempts.joined().contains(ada.accountId))
            clock.advance(by: 60)
            #expect(try await auth.call(.get, "/api/me/export", token: ada.token).status == 200)
        }
    }

    @Test func `deletes the account, its sessions and every row of it`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let member = try await auth.member("Gulliver", email: "gulliver@example.org")
            let other = try await auth.tokens(handle: "Gulliver")
            let body = json(["password": goodPassword])
            let answer = try await auth.call(.delete, "/api/me", body, token: member.token)
            #expect(answer.status == 204)
            for token in [member.token, other.token] {
                #expect(try await !auth.accepts(token))
            }
            for token in [member.refreshToken, other.refreshToken] {
                #expect(try await auth.refresh(token).status == 401)
            }
            #expect(try await auth.logIn(handle: "Gulliver").status == 401)
            let id = member.accountId
            let dump = try await AuthDump(database)
            #expect(!dump.text.contains(id))
            #expect(!dump.text.lowercased().contains("gulliver"))
            // Handle and address are free again, and whoever comes is somebody else.
            let next = try await auth.member("gulliver", email: "gulliver@example.org")
            #expect(next.accountId != id)
            #expect(try await auth.accepts(next.token))
        }
    }

    @Test(arguments: [
        (#"{"password":"wrong password"}"#, 403, "the current password is wrong"),
        ("{}", 400, "password is required"),
        (#"{"password":""}"#, 400, "password is required"),
        (#"{"password":7}"#, 400, #"field "password" has invalid type"#),
        (#"{"password":"x","sure":true}"#, 400, #"invalid JSON: unknown field "sure""#),
    ])
    func `without the password nothing is deleted`(
        body: String,
        status: Int,
        error: String
    )
        async throws
    {
        try await withSharedAuth(clock: clock) { auth, _ async throws in
            let member = try await auth.somebody()
            let answer = try await auth.call(.delete, "/api/me", body, token: member.token)
            #expect(answer.status == status)
            #expect(answer.refusal?.error == error)
            #expect(try await auth.accepts(member.token))
        }
    }

    @Test func `the last active admin cannot leave`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let admin = try await auth.staff(email: "root@example.org", in: database)
            let body = json(["password": goodPassword])
            let answer = try await auth.call(.delete, "/api/me", body, token: admin.token)
            #expect(answer.status == 409)
            #expect(answer.refusal?.error == "cannot delete the last active admin")
            try await addStaff(email: "second@example.org", in: database)
            let again = try await auth.call(.delete, "/api/me", body, token: admin.token)
            #expect(again.status == 204)
        }
    }

    @Test func `only who has an account may ask`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let rider = TestTokens(clock: clock.application).token(.rider)
            for path in ["/api/me", "/api/me/export"] {
                #expect(try await auth.call(.get, path).status == 401)
                #expect(try await auth.call(.get, path, token: rider).status == 403)
            }
            let stranger = TestTokens(clock: clock.application).token(.member)
            #expect(try await auth.call(.get, "/api/me", token: stranger).status == 401)
        }
    }
}
