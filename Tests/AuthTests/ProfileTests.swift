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
                    "expires_at":"2026-02-23T16:01:00Z","tokens_signed_at":\
                    ["2026-02-16T16:00:00Z","2026-02-16T16:01:00Z"]}]}
                    """
            )
        }
    }

    @Test func `an export has what every owner stores, or is none`() async throws {
        let isAway = Mutex(true)
        let feed = ErasureOwner(
            name: "feed",
            kinds: [.account],
            erase: { _ in .clean },
            export: { account in
                isAway.withLock { $0 } ? nil : Array("{\"of\":\"\(account)\"}".utf8)
            }
        )
        try await withAuth(clock: clock, owners: [feed]) { auth async throws in
            let member = try await auth.somebody()
            let refused = try await auth.call(.get, "/api/me/export", token: member.token)
            #expect(refused.status == 503)
            #expect(refused.headers.first("Retry-After") == "2")
            #expect(refused.refusal?.code == "export.unavailable")
            isAway.withLock { $0 = false }
            for _ in 0..<4 {
                let answer = try await auth.call(.get, "/api/me/export", token: member.token)
                #expect(answer.status == 200)
                #expect(answer.text.hasSuffix("}],\"feed\":{\"of\":\"\(member.accountId)\"}}"))
            }
            // The sixth in a minute.
            let late = try await auth.call(.get, "/api/me/export", token: member.token)
            #expect(late.status == 429)
            #expect(late.refusal?.code == "rate.exports")
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
