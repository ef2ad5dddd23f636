import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// `POST /api/v1/auth/logout` and `logout-all` (spec 1.2, circles spec 23).
@Suite(.timeLimit(.minutes(3))) struct LogOutTests {
    private let clock = ManualClock()

    @Test func `ends this session alone, with every token that it had`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                let first = try await one.member("ada")
                let other = try await two.tokens(handle: "ada")
                let second = try await one.refresh(first.refreshToken)
                    .decoded(AuthProcess.Tokens.self)
                // Also by the older token of the session.
                let answer = try await one.call(.post, "/api/v1/auth/logout", token: first.token)
                #expect(answer.status == 204)
                #expect(answer.body.isEmpty)
                for auth in [one, two] {
                    #expect(try await !auth.accepts(first.token))
                    #expect(try await !auth.accepts(second.token))
                    #expect(try await auth.accepts(other.token))
                }
                #expect(try await two.refresh(second.refreshToken).status == 401)
                // A spent token of an ended session ends nothing more.
                #expect(try await two.refresh(first.refreshToken).status == 401)
                #expect(try await two.refresh(other.refreshToken).status == 200)
            }
        }
    }

    @Test(arguments: [Role.driver, .admin])
    func `of staff it deletes every refresh token and leaves the other access tokens`(
        role: Role
    ) async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let email = "root@example.org"
            let first = try await auth.staff(role, email: email, in: database)
            let other = try await auth.tokens(email: email)
            let bystander = try await auth.staff(role, email: "eve@example.org", in: database)
            #expect(
                try await auth.call(.post, "/api/v1/auth/logout", token: first.token).status == 204
            )
            #expect(try await !auth.accepts(first.token))
            #expect(try await auth.accepts(other.token))
            for token in [first.refreshToken, other.refreshToken] {
                #expect(try await auth.refresh(token).status == 401)
            }
            // Those that are gone are unknown, not spent: nothing more is ended by them.
            #expect(try await auth.accepts(other.token))
            #expect(try await auth.refresh(bystander.refreshToken).status == 200)
            let back = try await auth.tokens(email: email)
            #expect(try await auth.refresh(back.refreshToken).status == 200)
        }
    }

    @Test func `a token of staff without an id deletes refresh tokens and revokes nothing`()
        async throws
    {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let staff = try await auth.staff(email: "root@example.org", in: database)
            let token = TokenSigner(KeyRing(secret: TestTokens.secret, families: [.staff])).sign(
                TokenClaims(
                    subject: staff.accountId,
                    role: .admin,
                    issuedAt: clock.now,
                    lifetime: .seconds(900),
                    tokenID: nil
                )
            )
            #expect(try await auth.call(.post, "/api/v1/auth/logout", token: token).status == 204)
            #expect(try await auth.accepts(token))
            #expect(try await auth.accepts(staff.token))
            #expect(try await auth.refresh(staff.refreshToken).status == 401)
        }
    }

    @Test func `logout-all ends every session; the next log-in works at once`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let first = try await auth.member("ada")
            let other = try await auth.tokens(handle: "ada")
            let bystander = try await auth.member("eve")
            let answer = try await auth.call(.post, "/api/v1/auth/logout-all", token: first.token)
            #expect(answer.status == 204)
            #expect(try await !auth.accepts(first.token))
            #expect(try await !auth.accepts(other.token))
            #expect(try await auth.accepts(bystander.token))
            for token in [first.refreshToken, other.refreshToken] {
                #expect(try await auth.refresh(token).status == 401)
            }
            let back = try await auth.tokens(handle: "ada")
            #expect(try await auth.accepts(back.token))
            #expect(try await auth.refresh(back.refreshToken).status == 200)
        }
    }

    /// Both know the token as valid, as in the moment before the news of the first has come.
    @Test func `a log-out that ends nothing more dates no later token ahead`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                let member = try await one.member("ada")
                for auth in [one, two] {
                    let answer = try await auth.call(
                        .post,
                        "/api/v1/auth/logout-all",
                        token: member.token
                    )
                    #expect(answer.status == 204)
                }
                let back = try await one.tokens(handle: "ada")
                // After the second that was revoked, and no later.
                #expect(try claims(back.token, clock).issuedAt == clock.now + 1)
                #expect(try await two.accepts(back.token))
                #expect(try await !two.accepts(member.token))
            }
        }
    }

    /// The tokens have to be dated after the revocation, which a clock that was ahead has written.
    @Test func `tokens after a clock was ahead count no longer than others`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let rider = installation()
            clock.advance(by: 6_700_000)
            let member = try await auth.member("ada")
            let answer = try await auth.call(.post, "/api/v1/auth/logout-all", token: member.token)
            #expect(answer.status == 204)
            let id = try await auth.register(rider).decoded(AuthProcess.Registration.self).riderId
            let pool = database.open(role: Auth.schema.role)
            let target = RevocationTarget.rider(try #require(UniqueID(id)))
            #expect(try await Auth.revoke(target, at: clock.now, in: pool) == .revoked)
            await pool.close()
            clock.advance(by: -6_700_000)
            let back = try await auth.tokens(handle: "ada")
            #expect(back.expiresIn == 900)
            #expect(try claims(back.token, clock).expiresAt == clock.now + 900)
            #expect(try await auth.accepts(back.token))
            let again = try await auth.register(rider).decoded(AuthProcess.Registration.self)
            #expect(try claims(again.token, clock).expiresAt == clock.now + 8760 * 3600)
            clock.advance(by: 900)
            #expect(try await !auth.accepts(back.token))
        }
    }

    @Test func `a revocation stands as long as any token that it is about`() async throws {
        let database = try await authDatabase()
        func until() async throws -> UnixSeconds {
            try await database.query { connection throws(DatabaseError) in
                try connection.query("SELECT until FROM auth.revocations").one().timestamp(0)
            }
        }
        var member: AuthProcess.Tokens?
        let long = ["ACCESS_TOKEN_TTL": "24h"]
        try await withAuth(long, clock: clock, database: database) { auth async throws in
            member = try await auth.member("ada")
            #expect(member?.expiresIn == 86_400)
        }
        let token = try #require(member?.token)
        clock.advance(by: 60)
        try await withAuth(clock: clock, database: database) { auth async throws in
            _ = try await auth.call(.post, "/api/v1/auth/logout", token: token)
            #expect(try await until() == clock.now - 60 + 86_400)
            clock.advance(by: 86_400 - 61)
            #expect(try await !auth.accepts(token))
        }
    }

    @Test func `a token without an id has nothing to revoke`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let member = try await auth.member("ada")
            let ring = KeyRing(secret: TestTokens.secret, families: [.member])
            let token = TokenSigner(ring).sign(
                TokenClaims(
                    subject: member.accountId,
                    role: .member,
                    issuedAt: clock.now,
                    lifetime: .seconds(900),
                    tokenID: nil
                )
            )
            #expect(try await auth.call(.post, "/api/v1/auth/logout", token: token).status == 204)
            #expect(try await auth.accepts(token))
            #expect(try await auth.accepts(member.token))
        }
    }

    @Test func `a token of no known session is revoked by its id`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let member = try await auth.member("ada")
            let subject = try #require(UniqueID(member.accountId))
            let token = TestTokens(clock: clock.application).token(.member, subject: subject)
            #expect(try await auth.accepts(token))
            #expect(try await auth.call(.post, "/api/v1/auth/logout", token: token).status == 204)
            #expect(try await !auth.accepts(token))
            #expect(try await auth.accepts(member.token))
        }
    }

    @Test func `of a refresh and a logout at once, no token survives the logout`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                for round in 0..<6 {
                    let member = try await one.member("ada\(round)")
                    async let refreshed = two.refresh(member.refreshToken)
                    async let ended = one.call(
                        .post,
                        "/api/v1/auth/logout",
                        token: member.token
                    )
                    #expect(try await ended.status == 204)
                    let answer = try await refreshed
                    guard answer.status == 200 else {
                        #expect(answer.status == 401)
                        continue
                    }
                    let pair = try answer.decoded(AuthProcess.Tokens.self)
                    #expect(try await !one.accepts(pair.token))
                    #expect(try await one.refresh(pair.refreshToken).status == 401)
                }
            }
        }
    }

    @Test(arguments: ["logout", "logout-all", "password"])
    func `only who is logged in may call it`(path: String) async throws {
        try await withAuth(clock: clock) { auth async throws in
            let tokens = TestTokens(clock: clock.application)
            let url = "/api/v1/auth/\(path)"
            #expect(try await auth.call(.post, url, "{}").status == 401)
            #expect(try await auth.call(.post, url, "{}", token: "x").status == 401)
            let rider = tokens.token(.rider)
            #expect(try await auth.call(.post, url, "{}", token: rider).status == 403)
        }
    }
}
