import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// An address that goes on after its last attempt costs others nothing.
@Suite(.timeLimit(.minutes(3))) struct AddressLimiterTests {
    enum Call: String, CaseIterable, CustomTestStringConvertible {
        case logIn = "login.address"
        case refresh = "login.address, by refreshes"
        case session = "login.address, from a browser"
        case signUp = "signup"
        case register = "register"

        var testDescription: String { rawValue }
        var kind: String { String(rawValue.prefix { $0 != "," }) }
        var limit: Int { kind == "login.address" ? 10 : 5 }

        func status(_ auth: AuthProcess, _ number: Int) async throws -> Int {
            let address = "192.0.2.1"
            switch self {
            case .logIn: return try await auth.logIn(handle: "n\(number)", from: address).status
            case .refresh: return try await auth.refresh("x", from: address).status
            case .session:
                let body = json(["email": "n\(number)@example.org", "password": goodPassword])
                let path = "/api/v1/auth/session"
                return try await auth.call(.post, path, body, from: address).status
            case .signUp: return try await auth.signUp("n-\(number)", from: address).status
            case .register: return try await auth.register(from: address).status
            }
        }
    }

    /// 16:00:00, the start of a window.
    private let clock = ManualClock()

    private func counted(_ call: Call, _ database: TestDatabase) async throws -> [Int] {
        try await database.query { connection throws(DatabaseError) in
            var counts: [Int] = []
            for row in try connection.query(
                "SELECT count FROM auth.attempts WHERE kind = $1 ORDER BY window_start",
                [.text(call.kind)]
            ) { counts.append(try row.int(0)) }
            return counts
        }
    }

    @Test(arguments: Call.allCases)
    func `who was refused is refused without the database until the minute ends`(
        call: Call
    ) async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            clock.advance(by: 20)
            for number in 0..<call.limit {
                #expect(try await call.status(auth, number) != 429)
            }
            for number in 100..<110 { #expect(try await call.status(auth, number) == 429) }
            // The first refusal is the last attempt that anybody has counted.
            #expect(try await counted(call, database) == [call.limit + 1])
            clock.advance(by: 39)
            #expect(try await call.status(auth, 200) == 429)
            clock.advance(by: 1)
            #expect(try await call.status(auth, 201) != 429)
            #expect(try await counted(call, database).count == 2)
        }
    }

    @Test func `another address is none the worse for it`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            _ = try await auth.member("ada")
            for number in 0..<12 { _ = try await Call.logIn.status(auth, number) }
            #expect(try await auth.logIn(handle: "ada", from: "192.0.2.1").status == 429)
            let other = try await auth.logIn(handle: "ada", from: "192.0.2.2")
            #expect(other.status == 200)
        }
    }

    @Test func `remembers nothing of the window before`() async throws {
        let database = try await authDatabase()
        try await database.query { connection throws(DatabaseError) in
            let keys = KeyRing(secret: TestTokens.secret, families: [.rider])
            let limiter = AddressLimiter(AttemptLimiter(kind: "test", limit: 0, keys: keys))
            #expect(limiter.knownWait(of: "a", at: 120) == nil)
            let answer = try limiter.attempt(by: "a", at: 130, on: connection)
            #expect(answer == .refused(retryAfterSeconds: 50))
            #expect(limiter.knownWait(of: "a", at: 179) == 1)
            #expect(limiter.knownWait(of: "b", at: 179) == nil)
            #expect(limiter.knownWait(of: "a", at: 180) == nil)
            _ = try limiter.attempt(by: "b", at: 180, on: connection)
            #expect(limiter.knownWait(of: "a", at: 180) == nil)
            #expect(limiter.knownWait(of: "b", at: 180) == 60)
        }
    }
}
