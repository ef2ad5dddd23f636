import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// `POST /api/v1/auth/password` (architecture section 12, circles spec 23 and 24).
@Suite(.timeLimit(.minutes(1))) struct ChangePasswordTests {
    private let clock = ManualClock()
    private let new = "another good password"

    private func change(
        _ auth: AuthProcess,
        _ token: String,
        from current: String = goodPassword,
        to new: String
    ) async throws -> HTTPClientResponse {
        let body = json(["current": current, "new": new])
        return try await auth.call(.post, "/api/v1/auth/password", body, token: token)
    }

    /// Everything happens in one second: the dates of tokens tell nothing apart.
    @Test func `ends the other sessions at once and lets the caller's go on`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                let other = try await two.member("ada")
                let otherNext = try await two.refresh(other.refreshToken)
                    .decoded(AuthProcess.Tokens.self)
                let caller = try await one.tokens(handle: "ada")
                #expect(try await change(one, caller.token, to: new).status == 204)
                for auth in [one, two] {
                    #expect(try await !auth.accepts(other.token))
                    #expect(try await !auth.accepts(otherNext.token))
                    #expect(try await auth.accepts(caller.token))
                }
                #expect(try await one.refresh(otherNext.refreshToken).status == 401)
                let next = try await two.refresh(caller.refreshToken)
                    .decoded(AuthProcess.Tokens.self)
                #expect(try await one.accepts(next.token))
                #expect(try await one.accepts(caller.token))
                #expect(try await one.logIn(handle: "ada").status == 401)
                let back = try await one.tokens(handle: "ada", password: new)
                #expect(try await two.accepts(back.token))
            }
        }
    }

    @Test func `a caller whose session is not known keeps nothing`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let member = try await auth.member("ada")
            let subject = try #require(UniqueID(member.accountId))
            let token = TestTokens(clock: clock.application).token(.member, subject: subject)
            #expect(try await change(auth, token, to: new).status == 204)
            #expect(try await !auth.accepts(token))
            #expect(try await !auth.accepts(member.token))
            let back = try await auth.tokens(handle: "ada", password: new)
            #expect(try await auth.accepts(back.token))
        }
    }

    @Test(arguments: [
        ("{}", "current and new are required"),
        (#"{"current":"correct horse battery"}"#, "current and new are required"),
        (#"{"new":"another good password"}"#, "current and new are required"),
        (#"{"current":"","new":"another good password"}"#, "current and new are required"),
        (#"{"current":"x","new":"1234567"}"#, "password must be at least 8 characters"),
        (#"{"current":"x","new":7}"#, #"field "new" has invalid type"#),
        (
            #"{"current":"x","new":"12345678","more":1}"#, #"invalid JSON: unknown field "more""#
        ),
    ])
    func `refuses a bad body with its own sentence`(body: String, error: String) async throws {
        try await withAuth(clock: clock) { auth async throws in
            let member = try await auth.member("ada")
            let answer = try await auth.call(
                .post,
                "/api/v1/auth/password",
                body,
                token: member.token
            )
            #expect(answer.status == 400)
            #expect(answer.refusal?.error == error)
        }
    }

    @Test func `takes 1,024 bytes and no more`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let member = try await auth.member("ada")
            let long = String(repeating: "ä", count: 512)
            let answer = try await change(auth, member.token, to: long + "x")
            #expect(answer.status == 400)
            #expect(answer.refusal?.error == "password must be at most 1024 bytes")
            #expect(try await change(auth, member.token, to: long).status == 204)
            _ = try await auth.tokens(handle: "ada", password: long)
        }
    }

    @Test func `a wrong current password is 403 and changes nothing`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let member = try await auth.member("ada")
            let answer = try await change(auth, member.token, from: "wrong password", to: new)
            #expect(answer.status == 403)
            #expect(answer.refusal?.code == "password.wrong")
            #expect(try await auth.accepts(member.token))
            _ = try await auth.tokens(handle: "ada")
        }
    }

    @Test func `a stolen access token is no way to guess the password`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let member = try await auth.member("ada")
            for number in 0..<5 {
                let wrong = "wrong password \(number)"
                #expect(try await change(auth, member.token, from: wrong, to: new).status == 403)
            }
            let answer = try await change(auth, member.token, to: new)
            #expect(answer.status == 429)
            #expect(answer.headers.first("Retry-After") == "60")
            clock.advance(by: 60)
            #expect(try await change(auth, member.token, to: new).status == 204)
        }
    }

    @Test func `of two changes at once, one is made`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                let first = try await one.member("ada")
                let second = try await two.tokens(handle: "ada")
                async let one = change(one, first.token, to: "password of the one")
                async let two = change(two, second.token, to: "password of the two")
                let statuses = try await [one.status, two.status]
                // The later one is refused for its password, or has been logged out already.
                #expect(statuses.filter { $0 == 204 }.count == 1, "\(statuses)")
                #expect(statuses.allSatisfy { [204, 401, 403].contains($0) }, "\(statuses)")
            }
        }
    }
}
