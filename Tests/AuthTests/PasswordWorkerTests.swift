import Synchronization
import Telemetry
import Testing
import Web

@testable import AuthService

/// Argon2id behind its bounded worker.
@Suite(.timeLimit(.minutes(1))) struct PasswordWorkerTests {
    private let metrics = Metrics()
    private var deadline: ContinuousClock.Instant { .now + .seconds(60) }

    private func worker(
        _ costs: Argon2Costs = Argon2Costs(passes: 1, memoryKiB: 8)
    )
        -> PasswordWorker
    {
        PasswordWorker(costs: costs, threads: 1, metrics: metrics)
    }

    private func metric(_ name: String) -> Int? {
        metrics.rendered().split(separator: "\n").first { $0.hasPrefix(name + " ") }
            .flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }.map { Int($0) }
    }

    @Test func `hashes differ by their salt and carry their costs`() async throws {
        let worker = worker(.standard)
        let first = try await worker.hash("password", by: deadline)
        let second = try await worker.hash("password", by: deadline)
        #expect(first.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
        #expect(first != second)
        #expect(try await worker.verify("password", against: first, by: deadline))
        #expect(try await worker.verify("password", against: second, by: deadline))
        #expect(try await !worker.verify("passwore", against: first, by: deadline))
        #expect(!worker.needsRehash(first))
    }

    @Test(arguments: [
        ("a\0b", "a\0c"), ("a\0b", "a"), ("a", "a\0"), ("", "\0"), ("é", "e\u{301}"),
        (String(repeating: "x", count: 1024), String(repeating: "x", count: 1023) + "y"),
        ("Password", "password"), ("password ", "password"),
    ])
    func `every byte counts, also behind a NUL`(password: String, other: String) async throws {
        let worker = worker()
        let hash = try await worker.hash(password, by: deadline)
        #expect(try await worker.verify(password, against: hash, by: deadline))
        // As bytes: Swift's own comparison takes composed and decomposed letters for the same.
        let isOther = Array(other.utf8) != Array(password.utf8)
        #expect(isOther)
        #expect(try await !worker.verify(other, against: hash, by: deadline))
    }

    @Test func `without a hash it works as long and says no`() async throws {
        let worker = worker()
        #expect(try await !worker.verify("password", against: nil, by: deadline))
        #expect(metric("password_hash_seconds_count") == 1)
    }

    @Test(arguments: ["", "x", "$argon2id$", "$2b$10$abcdefghijklmnopqrstuv", "a\0b"])
    func `what is no hash of ours is nobody's password`(hash: String) async throws {
        let worker = worker()
        #expect(try await !worker.verify("", against: hash, by: deadline))
        #expect(try await !worker.verify(hash, against: hash, by: deadline))
        #expect(worker.needsRehash(hash))
    }

    @Test(arguments: [
        Argon2Costs(passes: 2, memoryKiB: 8), Argon2Costs(passes: 1, memoryKiB: 16),
    ])
    func `a hash of other costs is to be made anew`(costs: Argon2Costs) async throws {
        let hash = try await worker(costs).hash("password", by: deadline)
        #expect(worker().needsRehash(hash))
        #expect(!worker(costs).needsRehash(hash))
        #expect(try await worker().verify("password", against: hash, by: deadline))
    }

    @Test func `lets in as many as its limit, then refuses at once and counts`() async throws {
        let worker = worker()
        let gate = Gate()
        let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<PasswordWorker.callerLimit {
                group.addTask {
                    try await worker.admit { await gate.wait() }
                    return true
                }
            }
            await gate.untilWaiting(PasswordWorker.callerLimit)
            #expect(metric("password_callers_waiting") == PasswordWorker.callerLimit)
            for _ in 0..<100 {
                let error = await #expect(throws: HTTPError.self) { try await worker.admit {} }
                #expect(error?.status == 503)
                #expect(error?.retryAfter == 3)
            }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == PasswordWorker.callerLimit)
        #expect(metric("password_callers_refused_total") == 100)
        #expect(metric("password_callers_waiting") == 0)
        #expect(try await worker.admit { true })
    }

    @Test func `a place is given back by whoever fails`() async throws {
        let worker = worker()
        for _ in 0..<(2 * PasswordWorker.callerLimit) {
            await #expect(throws: HTTPError.self) {
                try await worker.admit { throw HTTPError.loginRefused }
            }
        }
        #expect(try await worker.admit { true })
    }

    @Test func `what nobody waits for any more is not computed`() async throws {
        let worker = worker()
        let error = await #expect(throws: HTTPError.self) {
            try await worker.hash("password", by: .now - .seconds(1))
        }
        #expect(error == .passwordsBusy)
        #expect(metric("password_hash_seconds_count") == 0)
    }
}

/// Holds tasks until it is opened.
private final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func untilWaiting(_ count: Int) async {
        while state.withLock({ $0.waiting.count }) < count { await Task.yield() }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
