import Database
import Messages
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// What auth writes into `auth.revocations` and how fast it counts.
@Suite(.timeLimit(.minutes(3))) struct RevocationTests {
    private struct Row: Equatable {
        let kind: String
        let value: String
        let revokedAt: UnixSeconds
        let until: UnixSeconds
    }

    private func rows(_ database: TestDatabase) async throws -> [Row] {
        try await database.query { connection throws(DatabaseError) in
            var rows: [Row] = []
            for row in try connection.query("SELECT * FROM auth.revocations ORDER BY kind DESC") {
                rows.append(
                    Row(
                        kind: try row.text("kind"),
                        value: try row.text("value"),
                        revokedAt: try row.timestamp("revoked_at"),
                        until: try row.timestamp("until")
                    )
                )
            }
            return rows
        }
    }

    @Test func `a token stands by its id, a subject by a digest that SQL makes too`()
        async throws
    {
        let database = try await authDatabase()
        let subject = UniqueID.random().description
        let digest = try await database.query { connection throws(DatabaseError) in
            let revocations = Revocations()
            try revocations.revoke(token: "abc", until: 500, at: 100, on: connection)
            try revocations.revoke(subject: subject, until: 600, at: 200, on: connection)
            return try connection.query(
                "SELECT left(encode(sha256($1), 'hex'), 32)",
                [.bytes(Array(subject.utf8))]
            ).one().text(0)
        }
        #expect(
            try await rows(database) == [
                Row(kind: "token", value: "abc", revokedAt: 100, until: 500),
                Row(kind: "subject", value: digest, revokedAt: 200, until: 600),
            ]
        )
    }

    @Test func `revoked again it moves on, never back`() async throws {
        let database = try await authDatabase()
        let instants = try await database.query { connection throws(DatabaseError) in
            let revocations = Revocations()
            var instants: [UnixSeconds] = []
            for (now, until) in [(100, 500), (50, 700), (300, 600), (300, 600)] {
                try revocations.revoke(
                    subject: "ann",
                    until: UnixSeconds(until),
                    at: UnixSeconds(now),
                    on: connection
                )
                let signed = try revocations.signingTime(for: "ann", at: 0, on: connection)
                instants.append(signed)
            }
            return instants
        }
        #expect(instants == [101, 102, 301, 302])
        #expect(try await rows(database).map(\.until) == [700])
    }

    @Test func `who was never revoked signs with the clock`() async throws {
        let database = try await authDatabase()
        let instants = try await database.query { connection throws(DatabaseError) in
            let revocations = Revocations()
            try revocations.revoke(subject: "ann", until: 500, at: 100, on: connection)
            return [
                try revocations.signingTime(for: "bob", at: 100, on: connection),
                try revocations.signingTime(for: "ann", at: 100, on: connection),
                try revocations.signingTime(for: "ann", at: 101, on: connection),
                try revocations.signingTime(for: "ann", at: 200, on: connection),
            ]
        }
        #expect(instants == [100, 101, 101, 200])
    }

    @Test func `what is rolled back was never revoked`() async throws {
        let database = try await authDatabase()
        try await withAuth(database: database) { auth async throws in
            let revocations = auth.trust.revocations
            try await database.query { connection throws(DatabaseError) in
                try connection.transaction { () throws(DatabaseError) in
                    try revocations.revoke(token: "abc", until: 500, at: 100, on: connection)
                    connection.rollBackAtEnd()
                }
            }
            await revocations.announce()
            #expect(try await rows(database) == [])
        }
    }

    @Test func `an announced revocation counts at once, here and where it is heard`()
        async throws
    {
        let database = try await authDatabase()
        try await withAuth(database: database) { auth async throws in
            let rider = try await auth.register().decoded(AuthProcess.Registration.self)
            #expect(try await auth.send(.get, export, token: rider.token).status == 503)
            let revocations = auth.trust.revocations
            let claims = try TestTokens(clock: ManualClock().application).verifier()
                .claims(of: rider.token)
            let id = try #require(claims.tokenID)
            try await database.query { connection throws(DatabaseError) in
                try revocations.revoke(
                    token: id,
                    until: claims.expiresAt,
                    at: 1,
                    on: connection
                )
            }
            await revocations.announce()
            let refused = try await auth.send(.get, export, token: rider.token)
            #expect(refused.status == 401)
            #expect(try refused.decoded(AuthProcess.Refusal.self).code == "auth.invalid_token")
        }
    }

    @Test(arguments: [false, true])
    func `an operator revokes all of a rider, who may register anew`(
        byInstallation: Bool
    ) async throws {
        let database = try await authDatabase()
        let clock = ManualClock()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let installation = UniqueID.random()
            let body = AuthTests.installation(installation)
            let first = try await auth.register(body).decoded(AuthProcess.Registration.self)
            let second = try await auth.register(body).decoded(AuthProcess.Registration.self)
            let other = try await auth.register().decoded(AuthProcess.Registration.self)
            let rider = try #require(UniqueID(first.riderId))
            let pool = database.open(role: Auth.schema.role)
            let target =
                byInstallation ? RevocationTarget.installation(installation) : .rider(rider)
            #expect(try await Auth.revoke(target, at: clock.now, in: pool) == .revoked)
            for stranger in [RevocationTarget.rider(.random()), .installation(.random())] {
                #expect(try await Auth.revoke(stranger, at: clock.now, in: pool) == .nobody)
            }
            await pool.close()
            await auth.view.look()
            for token in [first.token, second.token] {
                #expect(try await auth.send(.get, export, token: token).status == 401)
            }
            #expect(try await auth.send(.get, export, token: other.token).status == 503)
            // In the same second, and so dated just after it.
            let third = try await auth.register(body).decoded(AuthProcess.Registration.self)
            #expect(third.riderId == first.riderId)
            #expect(try await auth.send(.get, export, token: third.token).status == 503)
            #expect(try await rows(database).map(\.until) == [clock.now + 8760 * 3600])
        }
    }

    @Test func `an operator revokes one token and the others go on`() async throws {
        let database = try await authDatabase()
        let clock = ManualClock()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let body = installation()
            let first = try await auth.register(body).decoded(AuthProcess.Registration.self)
            let second = try await auth.register(body).decoded(AuthProcess.Registration.self)
            let claims = try TestTokens(clock: clock.application).verifier()
                .claims(of: first.token)
            let pool = database.open(role: Auth.schema.role)
            let id = try #require(claims.tokenID)
            #expect(try await Auth.revoke(.token(id), at: clock.now, in: pool) == .revokedUnseen)
            let member = try await auth.member("ada")
            let own = try #require(try AuthTests.claims(member.token, clock).tokenID)
            #expect(try await Auth.revoke(.token(own), at: clock.now, in: pool) == .revoked)
            await pool.close()
            await auth.view.look()
            #expect(try await auth.send(.get, export, token: first.token).status == 401)
            #expect(try await !auth.accepts(member.token))
            #expect(try await auth.send(.get, export, token: second.token).status == 503)
        }
    }

    @Test func `ended rows are swept, a minute late and whatever their number`() async throws {
        let database = try await authDatabase()
        let swept = try await database.query { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO auth.revocations (kind, value, revoked_at, until)
                SELECT 'token', n::text, to_timestamp(0), to_timestamp(CASE WHEN n <= 10005
                    THEN 939 ELSE 940 END) FROM generate_series(1, 10010) n
                """
            )
            return [
                try RevocationSweep.run(at: 1000, on: connection),
                try RevocationSweep.run(at: 1000, on: connection),
                try RevocationSweep.run(at: 1001, on: connection),
            ]
        }
        #expect(swept == [10_005, 0, 5])
    }
}

/// An endpoint for riders that answers 503 here, as no verifier does, once a token is admitted.
private let export = "/api/v1/rider/me/export"
