import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

/// `POST /api/v1/rider/register`, row by row of spec 2.1.
@Suite(.timeLimit(.minutes(3))) struct RegistrationTests {
    @Test func `answers 201 first and 200 with the same rider afterwards`() async throws {
        try await withAuth { auth async throws in
            let body = installation()
            let first = try await auth.register(body)
            #expect(first.status == 201)
            #expect(first.headers.first("Content-Type") == "application/json")
            let rider = try first.decoded(AuthProcess.Registration.self)
            #expect(UniqueID(rider.riderId)?.description == rider.riderId)
            #expect(rider.reportIntervalSeconds == 5)
            #expect(rider.maxBatchSize == 12)
            let second = try await auth.register(body)
            #expect(second.status == 200)
            let again = try second.decoded(AuthProcess.Registration.self)
            #expect(again.riderId == rider.riderId)
            #expect(again.token != rider.token)
        }
    }

    @Test func `an installation is the same in upper case`() async throws {
        try await withAuth { auth async throws in
            let body = installation(UniqueID(high: 0xABCD, low: 0xEF01), platform: "android")
            let upper = body.replacing("abcd", with: "ABCD").replacing("ef01", with: "EF01")
            #expect(upper != body)
            let first = try await auth.register(body).decoded(AuthProcess.Registration.self)
            let second = try await auth.register(upper).decoded(AuthProcess.Registration.self)
            #expect(first.riderId == second.riderId)
        }
    }

    @Test func `a repeat refreshes the version and when it was seen, nothing else`() async throws {
        let database = try await authDatabase()
        let clock = ManualClock()
        let start = clock.now
        try await withAuth(clock: clock, database: database) { auth async throws in
            let id = UniqueID.random()
            _ = try await auth.register(installation(id, appVersion: "1.0"))
            clock.advance(by: 3600)
            _ = try await auth.register(installation(id, appID: "other", appVersion: "2.0"))
        }
        let row = try await database.query { connection throws(DatabaseError) in
            let row = try connection.query("SELECT * FROM auth.riders").one()
            return (
                texts: [
                    try row.text("platform"), try row.text("app_id"), try row.text("app_version"),
                ],
                times: [try row.timestamp("created_at"), try row.timestamp("last_seen_at")],
                attested: try row.bool("attested")
            )
        }
        #expect(row.texts == ["ios", "org.example.app", "2.0"])
        #expect(row.times == [start, start + 3600])
        #expect(!row.attested)
    }

    @Test func `the token says what it should and no more`() async throws {
        let clock = ManualClock()
        try await withAuth(clock: clock) { auth async throws in
            let rider = try await auth.register().decoded(AuthProcess.Registration.self)
            let claims = try TestTokens(clock: clock.application).verifier([.rider])
                .claims(of: rider.token)
            #expect(claims.subject == rider.riderId)
            #expect(claims.role == .rider)
            #expect(claims.issuedAt == clock.now)
            #expect(claims.expiresAt == clock.now + 8760 * 3600)
            #expect(claims.tokenID?.count == 32)
            #expect(claims.email == nil)
            #expect(claims.handle == nil)
        }
    }

    @Test func `the token is signed with the riders' key alone`() async throws {
        let clock = ManualClock()
        try await withAuth(clock: clock) { auth async throws in
            let rider = try await auth.register().decoded(AuthProcess.Registration.self)
            let others = TestTokens(clock: clock.application).verifier([.member, .staff])
            #expect(throws: TokenFault.otherFamily) { try others.claims(of: rider.token) }
        }
    }

    @Test(arguments: [("2h", 7200), ("0", 31_536_000), ("-1h", 31_536_000), ("1y", 31_536_000)])
    func `a wrong lifetime falls back to the default`(text: String, seconds: Int64) async throws {
        let clock = ManualClock()
        try await withAuth(["RIDER_JWT_TTL": text], clock: clock) { auth async throws in
            let rider = try await auth.register().decoded(AuthProcess.Registration.self)
            let claims = try TestTokens(clock: clock.application).verifier([.rider])
                .claims(of: rider.token)
            #expect(claims.expiresAt == clock.now + seconds)
        }
    }

    @Test func `twenty registrations of one installation at once make one rider`() async throws {
        let database = try await authDatabase()
        try await withAuth(["RIDER_REGISTRATION_LIMIT": "100"], database: database) {
            one async throws in
            try await withAuth(["RIDER_REGISTRATION_LIMIT": "100"], database: database) {
                two async throws in
                let body = installation()
                let answers = try await withThrowingTaskGroup { group in
                    for index in 0..<20 {
                        group.addTask { try await (index % 2 == 0 ? one : two).register(body) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.filter { $0.status == 201 }.count == 1)
                #expect(answers.filter { $0.status == 200 }.count == 19)
                let ids = try answers.map { try $0.decoded(AuthProcess.Registration.self).riderId }
                #expect(Set(ids).count == 1)
            }
        }
    }

    @Test func `is not there while rider mode is off`() async throws {
        try await withAuth(["RIDER_MODE_ENABLED": "false"]) { auth async throws in
            #expect(try await auth.register().status == 404)
            #expect(try await auth.get("/api/capabilities").text.contains("\"rider\":false"))
        }
    }

    @Test func `says how it is and what it offers`() async throws {
        try await withAuth { auth async throws in
            #expect(try await auth.get("/api/health").text == "{\"status\":\"ok\"}")
            let version = ProductVersion.current
            #expect(
                try await auth.get("/api/capabilities").text
                    == "{\"rider\":true,\"social\":true,\"signup\":true,\"version\":\"\(version)\"}"
            )
        }
    }

    @Test func `a database that is away is 503, and later all is well`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let database = try await authDatabase(postgres)
        try await withAuth(["RIDER_REGISTRATION_LIMIT": "1000000"], database: database) {
            auth async throws in
            let body = installation()
            #expect(try await auth.register(body).status == 201)
            try await postgres.stop()
            let away = try await auth.register(body)
            #expect(away.status == 503)
            #expect(away.headers.first("Retry-After") == "2")
            #expect(try away.decoded(AuthProcess.Refusal.self).code == "database.unavailable")
            #expect(try await auth.get("/api/health").status == 200)
            try await postgres.start()
            while try await auth.register(body).status != 200 { await Task.yield() }
        }
    }

    @Test func `others read the revocations and nothing else`() async throws {
        let database = try await authDatabase()
        let role = "auth_reader"
        try await database.query { connection throws(DatabaseError) in
            try connection.script("CREATE ROLE \(role) NOLOGIN")
        }
        let count = try await database.query(as: role) { connection throws(DatabaseError) in
            try connection.query("SELECT count(*) FROM auth.revocations").one().int(0)
        }
        #expect(count == 0)
        for table in ["riders", "attempts", "migrations"] {
            let error = await #expect(throws: DatabaseError.self) {
                try await database.query(as: role) { connection throws(DatabaseError) in
                    _ = try connection.query("SELECT * FROM auth.\(table)")
                }
            }
            #expect(error?.sqlState == "42501", "\(table)")
        }
    }
}
