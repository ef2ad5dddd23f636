import ClientTransport
import Synchronization
import TestKit
import Testing

/// Work that does not end, and whoever waits for it.
@Suite(.timeLimit(.minutes(1))) struct DeadlineTests {
    struct Refusal: Error {}

    /// Work that ends when the test says so, and not by cancellation.
    final class Work: Sendable {
        private struct State {
            var isOver = false
            var waiting: CheckedContinuation<Void, Never>?
        }

        private let state = Mutex(State())

        func run() async -> Int {
            await withCheckedContinuation { waiting in
                let isOver = state.withLock { state in
                    state.waiting = waiting
                    return state.isOver
                }
                if isOver { waiting.resume() }
            }
            return 7
        }

        func end() {
            state.withLock { state in
                state.isOver = true
                return state.waiting
            }?.resume()
        }
    }

    let time = ManualTime()

    func deadline(_ limit: Duration?) -> Deadline {
        Deadline(limit) { [time] in try await time.sleep(for: $0) }
    }

    @Test func `gives what the work gives and throws what it throws`() async throws {
        #expect(try await deadline(.seconds(5)).run { 7 } == 7)
        #expect(try await deadline(nil).run { 7 } == 7)
        await #expect(throws: Refusal.self) {
            try await deadline(.seconds(5)).run { () async throws -> Int in throw Refusal() }
        }
    }

    @Test func `lets whoever waits go at the limit and not before`() async throws {
        let work = Work()
        let isOver = Mutex(false)
        let late = AsyncStream<Int>.makeStream()
        let waiting = Task { [self] in
            defer { isOver.withLock { $0 = true } }
            return try await deadline(.seconds(5)).run {
                await work.run()
            } late: {
                late.continuation.yield($0)
            }
        }
        await time.sleeper(of: .seconds(5))
        time.advance(by: .milliseconds(4999))
        #expect(!isOver.withLock { $0 })
        time.advance(by: .milliseconds(1))
        await #expect(throws: Deadline.Passed.self) { _ = try await waiting.value }
        work.end()
        var comers = late.stream.makeAsyncIterator()
        #expect(await comers.next() == 7)
    }

    @Test(arguments: [nil, Duration.seconds(5)])
    func `lets whoever is cancelled go at once`(limit: Duration?) async throws {
        let work = Work()
        let waiting = Task { [self] in try await deadline(limit).run { await work.run() } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        work.end()
    }

    @Test func `tells the work to stop`() async throws {
        let stopped = AsyncStream<Void>.makeStream()
        let waiting = Task { [self] in
            try await deadline(.seconds(5)).run {
                try? await Task.sleep(for: .seconds(3600))
                stopped.continuation.yield()
            }
        }
        await time.pass(.seconds(5))
        await #expect(throws: Deadline.Passed.self) { try await waiting.value }
        var stops = stopped.stream.makeAsyncIterator()
        await stops.next()
    }
}
