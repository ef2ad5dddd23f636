import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// `POST /api/v1/auth/refresh`, row by row of spec 1.2, and the drill with a stolen token.
@Suite(.timeLimit(.minutes(1))) struct RefreshTests {
    private let clock = ManualClock()
    private static let refused = AuthProcess.Refusal(
        error: "invalid or expired refresh token",
        code: "refresh.refused"
    )

    @Test func `gives the next pair of the same account`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let first = try await auth.member("ada")
            clock.advance(by: 600)
            let answer = try await auth.refresh(first.refreshToken)
            #expect(answer.status == 200)
            #expect(answer.headers.first("Cache-Control") == "no-store")
            let second = try answer.decoded(AuthProcess.Tokens.self)
            #expect(second.token == second.accessToken)
            #expect(second.accountId == first.accountId)
            #expect(second.role == "member")
            #expect(second.expiresIn == 900)
            #expect(second.refreshToken != first.refreshToken)
            #expect(try claims(second.token, clock).issuedAt == clock.now)
            // The token before it lives to its own end.
            #expect(try await auth.accepts(first.token))
            #expect(try await auth.accepts(second.token))
            clock.advance(by: 300)
            #expect(try await !auth.accepts(first.token))
            #expect(try await auth.accepts(second.token))
        }
    }

    @Test(arguments: [
        ("", 400, "invalid JSON: "),
        ("[]", 400, "invalid JSON: "),
        (#"{"refresh_token":7}"#, 400, #"field "refresh_token" has invalid type"#),
        (#"{"refresh_token":"x","more":1}"#, 400, #"invalid JSON: unknown field "more""#),
        ("{}", 400, "refresh_token is required"),
        (#"{"refresh_token":""}"#, 400, "refresh_token is required"),
        (#"{"refresh_token":null}"#, 400, "refresh_token is required"),
        (#"{"refresh_token":"x"}"#, 401, "invalid or expired refresh token"),
        (#"{"refresh_token":"ä€🚌"}"#, 401, "invalid or expired refresh token"),
    ])
    func `refuses with its own sentence`(body: String, status: Int, error: String) async throws {
        try await withAuth(clock: clock) { auth async throws in
            let answer = try await auth.call(.post, "/api/v1/auth/refresh", body)
            #expect(answer.status == status)
            #expect(answer.refusal?.error.hasPrefix(error) == true)
        }
    }

    @Test func `a token ends after REFRESH_TOKEN_TTL, to the second`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let first = try await auth.member("ada")
            clock.advance(by: 168 * 3600 - 1)
            let second = try await auth.refresh(first.refreshToken)
            #expect(second.status == 200)
            let next = try second.decoded(AuthProcess.Tokens.self)
            clock.advance(by: 168 * 3600)
            #expect(try await auth.refresh(next.refreshToken).refusal == Self.refused)
        }
    }

    @Test func `an expired token is no sign of a thief, spent or not`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let first = try await auth.member("ada")
            _ = try await auth.refresh(first.refreshToken)
            clock.advance(by: 168 * 3600)
            let other = try await auth.tokens(handle: "ada")
            #expect(try await auth.refresh(first.refreshToken).refusal == Self.refused)
            #expect(try await auth.refresh(other.refreshToken).status == 200)
        }
    }

    @Test func `a token of an account that is switched off is refused like any other`()
        async throws
    {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let member = try await auth.member("ada")
            try await database.query { connection throws(DatabaseError) in
                try connection.script("UPDATE auth.accounts SET active = false")
            }
            #expect(try await auth.refresh(member.refreshToken).refusal == Self.refused)
        }
    }

    /// A thief copies a refresh token.
    ///
    /// Whoever comes second with it, thief or owner, ends both.
    @Test(arguments: [true, false])
    func `a stolen refresh token ends every session of the account`(
        thiefIsFirst: Bool
    )
        async throws
    {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                let owner = try await one.member("ada")
                let elsewhere = try await two.tokens(handle: "ada")
                let bystander = try await one.member("eve")
                let (first, second) = thiefIsFirst ? (two, one) : (one, two)
                let won = try await first.refresh(owner.refreshToken)
                    .decoded(AuthProcess.Tokens.self)
                let lost = try await second.refresh(owner.refreshToken)
                #expect(lost.status == 401)
                #expect(lost.refusal == Self.refused)
                for auth in [one, two] {
                    for token in [owner.token, elsewhere.token, won.token] {
                        #expect(try await !auth.accepts(token))
                    }
                    #expect(try await auth.accepts(bystander.token))
                }
                for token in [won.refreshToken, elsewhere.refreshToken, owner.refreshToken] {
                    #expect(try await two.refresh(token).status == 401)
                }
                // In the same second the owner is back, and stays.
                let back = try await one.tokens(handle: "ada")
                #expect(try await one.accepts(back.token))
                #expect(try await two.accepts(back.token))
                #expect(try await two.refresh(owner.refreshToken).status == 401)
                let next = try await two.refresh(back.refreshToken)
                    .decoded(AuthProcess.Tokens.self)
                #expect(try await one.accepts(next.token))
                #expect(try await one.accepts(back.token))
            }
        }
    }

    @Test func `a second reuse in the same second also ends what came between`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            var tokens = try await auth.member("ada")
            for _ in 0..<3 {
                let next = try await auth.refresh(tokens.refreshToken)
                    .decoded(AuthProcess.Tokens.self)
                #expect(try await auth.accepts(next.token))
                #expect(try await auth.refresh(tokens.refreshToken).status == 401)
                #expect(try await !auth.accepts(next.token))
                #expect(try await !auth.accepts(tokens.token))
                tokens = try await auth.tokens(handle: "ada")
                #expect(try await auth.accepts(tokens.token))
            }
        }
    }

    @Test(arguments: 0..<8)
    func `of two uses at once in two processes exactly one gets a pair`(round: Int) async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                let member = try await one.member("ada")
                let answers = try await withThrowingTaskGroup { group in
                    for auth in [one, two] {
                        group.addTask { try await auth.refresh(member.refreshToken) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.map(\.status).sorted() == [200, 401])
                let winner = try #require(answers.first { $0.status == 200 })
                let pair = try winner.decoded(AuthProcess.Tokens.self)
                // The loser cannot be told from a thief, so the winner's pair went as well.
                #expect(try await !one.accepts(pair.token))
                #expect(try await two.refresh(pair.refreshToken).status == 401)
            }
        }
    }

    @Test func `a token from a process whose clock is ahead is ended with the rest`() async throws {
        let database = try await authDatabase()
        let ahead = ManualClock(clock.now + 3)
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: ahead, database: database) { two async throws in
                let member = try await one.member("ada")
                let later = try await two.tokens(handle: "ada")
                #expect(try claims(later.token, ahead).issuedAt == clock.now + 3)
                let all = try await one.call(
                    .post,
                    "/api/v1/auth/logout-all",
                    token: member.token
                )
                #expect(all.status == 204)
                #expect(try await !one.accepts(later.token))
                let back = try await one.tokens(handle: "ada")
                #expect(try await one.accepts(back.token))
            }
        }
    }

    @Test func `spent tokens are forgotten when they would have ended`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            var tokens = try await auth.member("ada")
            for _ in 0..<20 {
                clock.advance(by: 80 * 3600)
                tokens = try await auth.refresh(tokens.refreshToken).decoded()
            }
        }
        let count = try await database.query { connection throws(DatabaseError) in
            try connection.query("SELECT count(*) FROM auth.session_tokens").one().int(0)
        }
        #expect(count == 3)
    }

    @Test(arguments: [
        (["ACCESS_TOKEN_TTL": "0s"], "ACCESS_TOKEN_TTL"),
        (["ACCESS_TOKEN_TTL": "-1m"], "ACCESS_TOKEN_TTL"),
        (["ACCESS_TOKEN_TTL": "1h", "REFRESH_TOKEN_TTL": "1h"], "must be longer"),
        (["REFRESH_TOKEN_TTL": "10m"], "must be longer"),
    ])
    func `lifetimes that make no sense stop the start`(
        environment: [String: String],
        sentence: String
    ) throws {
        var environment = environment
        environment["DATABASE_URL"] = "postgresql:///x"
        environment["JWT_SECRET"] = TestTokens.secret.revealed()
        let error = #expect(throws: SettingsError.self) {
            try Auth.definition.table.read(environment: environment)
        }
        #expect(error?.description.contains(sentence) == true)
    }

    @Test func `lifetimes are taken from the settings`() async throws {
        let settings = ["ACCESS_TOKEN_TTL": "1m", "REFRESH_TOKEN_TTL": "2m"]
        try await withAuth(settings, clock: clock) { auth async throws in
            let member = try await auth.member("ada")
            #expect(member.expiresIn == 60)
            clock.advance(by: 60)
            #expect(try await !auth.accepts(member.token))
            clock.advance(by: 60)
            #expect(try await auth.refresh(member.refreshToken).status == 401)
        }
    }
}
