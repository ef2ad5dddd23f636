import Synchronization
import Telemetry
import TestKit
import Testing

@testable import Bus

private final class Tally: Sendable {
    private let total = Atomic(0)
    var count: Int { total.load(ordering: .relaxed) }
    func add() { total.add(1, ordering: .relaxed) }
}

@Suite(.timeLimit(.minutes(1)))
struct ShutdownTests {
    @Test(arguments: Network.allCases)
    func `loses nothing of what its handlers answered`(network: Network) async throws {
        let fleet = try Fleet(network)
        let peer = try await fleet.peer("peer-1", "running=20")
        let bus = try await fleet.bus(knowing: "peer-1")
        let answers = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<60 {
                group.addTask {
                    // Until the peer refuses; whatever ran must have been answered.
                    while true {
                        do throws(BusError) {
                            _ = try await bus.ask("slow 5", timeout: .seconds(5), resend: false)
                            answers.add()
                        } catch {
                            #expect(!error.outcomeIsUnknown)
                            return
                        }
                    }
                }
            }
            group.addTask {
                try await eventually("requests flow") { answers.count > 200 }
                peer.terminate()
            }
            try await group.waitForAll()
        }
        let last = try await peer.line("stopped ")
        #expect(last == "stopped \(answers.count)")
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `flushes a large answer and the last states`(network: Network) async throws {
        let fleet = try Fleet(network)
        let peer = try await fleet.peer("peer-1", "states=1")
        let bus = try await fleet.bus(knowing: "peer-1")
        let large = Task { try await bus.ask("make 5000000", timeout: .seconds(20)) }
        try await eventually("it runs") { try await bus.ask("count") == "1" }
        peer.terminate()
        #expect(try await large.value.utf8.count == 5_000_000)
        await bus.shutdown()
    }

    @Test func `refuses what comes while it answers what runs`() async throws {
        let fleet = try Fleet(.ipc)
        var limits = BusLimits()
        limits.flush = .milliseconds(100)
        let held = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let bus = try await fleet.bus(
            limits: limits,
            serving: { request in
                if request.body == Array("hold".utf8) {
                    await withCheckedContinuation { waiter in held.withLock { $0 = waiter } }
                }
                return request.body
            }
        )
        let raw = try RawClient("ipc://\(fleet.folder)/tester.req")
        raw.send(.test(target: "tester", correlation: 1), "hold")
        try await eventually("it runs") { held.withLock { $0 != nil } }
        let stopping = Task { await bus.shutdown() }
        try await eventually("it refuses") {
            raw.send(.test(target: "tester", correlation: 2), "echo")
            let header = try await raw.answerOrRefusal().flatMap { AnswerHeader(decoding: $0[0]) }
            return header == AnswerHeader(correlation: 2, status: .closing)
        }
        held.withLock { $0?.resume() }
        let answer = try #require(try await raw.answerOrRefusal())
        #expect(
            AnswerHeader(decoding: answer[0]) == AnswerHeader(correlation: 1, status: .answered)
        )
        // It is repeated, because this client does not echo it.
        let goodbye = try #require(try await raw.answerOrRefusal())
        #expect(Goodbye(decoding: goodbye[0]) == Goodbye(isComplete: true))
        await stopping.value
    }

    @Test func `ends what waits, refuses what comes, and stops twice`() async throws {
        let fleet = try Fleet(.ipc)
        _ = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        let holding = Task { try await bus.ask("hold", timeout: .seconds(40)) }
        try await eventually("it is held") { try await bus.ask("count") == "1" }
        await bus.shutdown()
        await #expect(throws: BusError.closed) { try await holding.value }
        await #expect(throws: BusError.closed) { try await bus.ask("echo") }
        bus.publish(topic: "feed", body: [])
        await bus.shutdown()
    }

    @Test func `refuses requests before it starts`() async throws {
        let bus = try Bus(
            BusConfiguration(service: "tester", instance: "tester", urlPrefix: "ipc:///tmp/"),
            directory: TestDirectory(),
            logger: .silent,
            metrics: Metrics()
        )
        await #expect(throws: BusError.closed) { try await bus.ask("echo") }
        await bus.shutdown()
    }

    @Test func `stops in time although a handler hangs`() async throws {
        let fleet = try Fleet(.ipc)
        var limits = BusLimits()
        limits.drain = .milliseconds(200)
        let metrics = Metrics()
        let held = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let bus = try await fleet.bus(
            metrics: metrics,
            limits: limits,
            serving: { request in
                await withCheckedContinuation { waiter in held.withLock { $0 = waiter } }
                return request.body
            }
        )
        let raw = try RawClient("ipc://\(fleet.folder)/tester.req")
        raw.send(.test(target: "tester"), "hang")
        try await eventually("it hangs") { held.withLock { $0 != nil } }
        await bus.shutdown()
        held.withLock { $0?.resume() }
    }
}
