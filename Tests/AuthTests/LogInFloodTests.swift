import Database
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// A flood of log-ins takes neither the machine nor the way to a fresh token.
@Suite(.timeLimit(.minutes(5))) struct LogInFloodTests {
    /// Log-ins that must have come and gone before the test is content.
    private static let flood = 2_000
    /// Log-ins on the wire at once: all that are let in, and some that are refused.
    private static let concurrent = PasswordWorker.callerLimit + 32

    private let clock = ManualClock()

    /// A full queue of these hashes takes longer than any request may, so a refresh that waited
    /// behind it would not be answered at all, however fast the machine.
    private let dear = ["PASSWORD_HASH_PASSES": "60", "PASSWORD_HASH_MEMORY_KIB": "7168"]

    @Test func `a refresh does not wait behind thousands of log-ins`() async throws {
        let database = try await authDatabase()
        var tokens = try await member(in: database)
        try await withAuth(dear, clock: clock, database: database) { auth async throws in
            let flood = Flood(auth)
            let flooding = Task { try await flood.run(concurrent: Self.concurrent) }
            var answered = 0
            while answered < 20 || flood.count < Self.flood {
                try await eventually("the flood fills the queue") {
                    value("password_callers_waiting", auth) >= 60
                }
                let answer = try await auth.refresh(tokens.refreshToken)
                try #require(answer.status == 200, "\(answer.text)")
                tokens = try answer.decoded()
                #expect(try await auth.accepts(tokens.token))
                answered += 1
                clock.advance(by: 1)
            }
            flood.stop()
            try await flooding.value
            // Nobody was let in but who could be served; the rest was told to come again.
            let refused = value("password_callers_refused_total", auth)
            #expect(refused >= Self.flood - value("password_hash_seconds_count", auth) - 500)
            #expect(flood.statuses.isSubset(of: [401, 503]))
            #expect(flood.statuses.contains(503))
        }
    }

    private func member(in database: TestDatabase) async throws -> AuthProcess.Tokens {
        var member: AuthProcess.Tokens?
        try await withAuth(clock: clock, database: database) { auth async throws in
            member = try await auth.member("ada")
        }
        return try #require(member)
    }

    private func value(_ metric: String, _ auth: AuthProcess) -> Int {
        let line = auth.metrics.rendered().split(separator: "\n")
            .first { $0.hasPrefix(metric + " ") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
            .map { Int($0) } ?? -1
    }
}

/// Log-ins of ever new identities from ever new addresses, so that no limit but the queue's holds.
private final class Flood: Sendable {
    private struct State {
        var count = 0
        var statuses: Set<Int> = []
        var isStopped = false
    }

    private let auth: AuthProcess
    private let client: HTTPClient
    private let state = Mutex(State())

    init(_ auth: AuthProcess) {
        self.auth = auth
        var configuration = HTTPClientConfiguration()
        configuration.maximumConcurrent = 1024
        client = HTTPClient(configuration: configuration)
    }

    var count: Int { state.withLock { $0.count } }
    var statuses: Set<Int> { state.withLock { $0.statuses } }

    func stop() { state.withLock { $0.isStopped = true } }

    func run(concurrent: Int) async throws {
        defer { client.close() }
        try await withThrowingTaskGroup { group in
            for lane in 0..<concurrent {
                group.addTask { try await self.logInAgainAndAgain(lane) }
            }
            try await group.waitForAll()
        }
    }

    private func logInAgainAndAgain(_ lane: Int) async throws {
        var turn = 0
        while !state.withLock({ $0.isStopped }) {
            turn += 1
            let body = json(["handle": "bot-\(lane)-\(turn)", "password": goodPassword])
            let answer = try await client.send(
                .post,
                "http://127.0.0.1:\(auth.port)/api/v1/auth/login",
                headers: [
                    ("Content-Type", "application/json"),
                    ("X-Forwarded-For", "10.\(lane).\(turn / 250).\(turn % 250)"),
                ],
                body: Array(body.utf8)
            )
            if answer.status == 503 { #expect(answer.headers.first("Retry-After") != nil) }
            state.withLock { state in
                state.count += 1
                state.statuses.insert(answer.status)
            }
        }
    }
}
