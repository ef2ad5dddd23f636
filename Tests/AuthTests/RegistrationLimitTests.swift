import Database
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// Five registrations a minute from one network, whichever process counts them.
@Suite(.timeLimit(.minutes(3))) struct RegistrationLimitTests {
    /// 16:00:00, the start of a window.
    private let clock = ManualClock()

    @Test func `the sixth of a window is told how long to wait`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            clock.advance(by: 13)
            for _ in 0..<5 { #expect(try await auth.register().status == 201) }
            let answer = try await auth.register()
            #expect(answer.status == 429)
            #expect(answer.headers.first("Retry-After") == "47")
            let refusal = try answer.decoded(AuthProcess.Refusal.self)
            #expect(refusal.error == "too many registrations, try again later")
            clock.advance(by: 46)
            let last = try await auth.register()
            #expect(last.status == 429)
            #expect(last.headers.first("Retry-After") == "1")
            clock.advance(by: 1)
            #expect(try await auth.register().status == 201)
        }
    }

    @Test func `counts before it reads: bad bodies cost, too`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            var statuses: [Int] = []
            for body in ["", "{", "{}"] { statuses.append(try await auth.register(body).status) }
            for _ in 0..<3 {
                statuses.append(try await auth.register(contentType: "text/plain").status)
            }
            #expect(statuses == [400, 400, 400, 415, 415, 429])
        }
    }

    @Test func `two processes share one allowance`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                let statuses = try await withThrowingTaskGroup { group in
                    for index in 0..<20 {
                        group.addTask { try await (index % 2 == 0 ? one : two).register().status }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.filter { $0 == 201 }.count == 5)
                #expect(statuses.filter { $0 == 429 }.count == 15)
            }
        }
    }

    @Test func `takes another limit from the settings`() async throws {
        try await withAuth(["RIDER_REGISTRATION_LIMIT": "1"], clock: clock) { auth async throws in
            #expect(try await auth.register().status == 201)
            #expect(try await auth.register().status == 429)
            #expect(try await auth.register(from: "192.0.2.1").status == 201)
        }
    }

    @Test func `an IPv6 network of 64 bits is one caller`() async throws {
        try await withAuth(["RIDER_REGISTRATION_LIMIT": "2"], clock: clock) { auth async throws in
            #expect(try await auth.register(from: "2001:db8:0:1::1").status == 201)
            #expect(try await auth.register(from: "2001:db8:0:1:ffff:ffff:ffff:ffff").status == 201)
            #expect(try await auth.register(from: "2001:db8:0:1:2::").status == 429)
            #expect(try await auth.register(from: "2001:db8:0:2::1").status == 201)
        }
    }

    @Test func `only a trusted proxy names the caller, and only by its last hop`() async throws {
        let settings = ["RIDER_REGISTRATION_LIMIT": "1"]
        try await withAuth(settings, clock: clock) { auth async throws in
            #expect(try await auth.register(from: "192.0.2.1, 198.51.100.7").status == 201)
            #expect(try await auth.register(from: "192.0.2.2, 198.51.100.7").status == 429)
        }
        try await withAuth(settings, clock: clock, trustsProxy: false) { auth async throws in
            #expect(try await auth.register(from: "192.0.2.1").status == 201)
            #expect(try await auth.register(from: "192.0.2.2").status == 429)
        }
    }

    @Test func `ten thousand networks in a window close it to others`() async throws {
        let database = try await authDatabase()
        let start = clock.now
        try await database.query { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO auth.attempts (kind, caller, window_start, count)
                SELECT 'register', 'caller ' || n, $1, 1 FROM generate_series(1, 9999) n
                """,
                [.timestamp(start)]
            )
        }
        try await withAuth(clock: clock, database: database) { auth async throws in
            #expect(try await auth.register(from: "192.0.2.1").status == 201)
            let refused = try await auth.register(from: "192.0.2.2")
            #expect(refused.status == 429)
            #expect(refused.headers.first("Retry-After") == "60")
            // Who was counted before goes on.
            #expect(try await auth.register(from: "192.0.2.1").status == 201)
            clock.advance(by: 60)
            #expect(try await auth.register(from: "192.0.2.2").status == 201)
        }
    }

    @Test func `windows that are over are deleted`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            for _ in 0..<4 {
                _ = try await auth.register()
                _ = try await auth.logIn(handle: "nobody")
                clock.advance(by: 60)
            }
        }
        func swept(at now: UnixSeconds) async throws -> Int {
            try await database.query { connection throws(DatabaseError) in
                try AttemptLimiter.sweep(at: now, on: connection)
                return try connection.query("SELECT count(*) FROM auth.attempts").one().int(0)
            }
        }
        // Three rows in each minute: a registration, a log-in's address and its identity.
        #expect(try await swept(at: clock.now - 1) == 3)
        #expect(try await swept(at: clock.now) == 0)
    }
}
