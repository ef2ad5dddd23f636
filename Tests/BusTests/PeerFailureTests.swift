import Synchronization
import Telemetry
import TestKit
import Testing

@testable import Bus

@Suite(.timeLimit(.minutes(1)))
struct PeerFailureTests {
    @Test func `sends a request that kills its reader once more and never again`() async throws {
        let fleet = try Fleet(.ipc)
        let first = try await fleet.peer()
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, knowing: "peer-1")
        let deadly = Task { try await bus.ask("die", timeout: .seconds(30)) }
        try await eventually("the first reader dies") { first.hasEnded }
        // Not waited for: it may die before it says that it listens.
        let second = try fleet.start()
        await #expect(throws: BusError.connectionLost("peer-1")) { try await deadly.value }
        try await eventually("the second reader died") { second.hasEnded }
        _ = try await fleet.peer()
        #expect(try await bus.ask("count", timeout: .seconds(30)) == "0")
        #expect(metrics.value("bus_requests_resent_total") == 1)
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `reports a killed instance at once where that is wanted`(network: Network) async throws {
        let fleet = try Fleet(network)
        _ = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        await #expect(throws: BusError.connectionLost("peer-1")) {
            try await bus.ask("die", timeout: .seconds(50), resend: false)
        }
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `answers after a restart what was asked before it`(network: Network) async throws {
        let fleet = try Fleet(network)
        let first = try await fleet.peer()
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, knowing: "peer-1")
        let holding = Task { try await bus.ask("hold", timeout: .seconds(40)) }
        try await eventually("it is held") { try await bus.ask("count") == "1" }
        first.kill()
        _ = try await fleet.peer()
        try await eventually("it is held again") { try await bus.ask("count") == "1" }
        _ = try await bus.ask("release")
        #expect(try await holding.value == "hold")
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `reports a frozen instance long before the deadline where that is wanted`(
        network: Network
    ) async throws {
        let fleet = try Fleet(network)
        let peer = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        #expect(try await bus.ask("count") == "0")
        peer.freeze()
        let start = ContinuousClock.now
        await #expect(throws: BusError.connectionLost("peer-1")) {
            try await bus.ask("echo", timeout: .seconds(50), resend: false)
        }
        // What comes now finds no connection and is told so at once, never sent.
        await #expect(throws: BusError.unreachable("peer-1")) {
            try await bus.ask("echo", timeout: .seconds(50), resend: false)
        }
        #expect(ContinuousClock.now - start < .seconds(15))
        peer.thaw()
        await bus.shutdown()
    }

    @Test func `fails what waits for an instance that left`() async throws {
        let fleet = try Fleet(.ipc)
        _ = try await fleet.peer()
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, knowing: "peer-1")
        let holding = Task { try await bus.ask("hold", timeout: .seconds(40)) }
        try await eventually("it is sent") { metrics.value("bus_requests_sent_total") == 1 }
        fleet.directory.remove("peer-1")
        await #expect(throws: BusError.connectionLost("peer-1")) { try await holding.value }
        #expect(bus.instances(of: "peer").isEmpty)
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `gives up on a frozen instance at the deadline and uses it again`(
        network: Network
    ) async throws {
        let fleet = try Fleet(network)
        let peer = try await fleet.peer()
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, knowing: "peer-1")
        #expect(try await bus.ask("count") == "0")
        peer.freeze()
        await #expect(throws: BusError.timeout("peer-1")) {
            try await bus.ask("echo", timeout: .seconds(1))
        }
        try await eventually("the silence is noticed", within: .seconds(6)) {
            metrics.value("bus_connections_lost_total") >= 1
        }
        peer.thaw()
        #expect(try await bus.ask("count", timeout: .seconds(20)) == "0")
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `does not run after a freeze what nobody waits for any more`(
        network: Network
    ) async throws {
        let fleet = try Fleet(network)
        let peer = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        #expect(try await bus.ask("count") == "0")
        peer.freeze()
        // Shorter than the silence that ends the connection: it is delivered after the freeze.
        await #expect(throws: BusError.timeout("peer-1")) {
            try await bus.ask("echo", timeout: .milliseconds(1800))
        }
        peer.thaw()
        // Asked after the freeze with less time than it took: refused as too old at first, then run.
        #expect(try await bus.ask("echo", timeout: .milliseconds(1500), resend: false) == "echo")
        #expect(try await bus.metric("bus_requests_expired_total") >= 1)
        #expect(try await bus.ask("count") == "1")
        await bus.shutdown()
    }

    @Test func `drops and counts what is past its deadline`() async throws {
        let fleet = try Fleet(.ipc)
        let peer = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        let raw = try RawClient("ipc://\(fleet.folder)/\(peer.instance).req")
        raw.send(.test(remaining: 0), "echo late")
        raw.send(.test(correlation: 2), "echo timely")
        let answer = try #require(try await raw.answerOrRefusal())
        #expect(AnswerHeader(decoding: answer[0])?.correlation == 2)
        #expect(try await bus.metric("bus_requests_expired_total") == 1)
        #expect(try await bus.ask("count") == "1")
        await bus.shutdown()
    }

    @Test func `drops and counts what does not decode`() async throws {
        let fleet = try Fleet(.ipc)
        let peer = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        let raw = try RawClient("ipc://\(fleet.folder)/\(peer.instance).req")
        let good = RequestHeader.test().encoded()
        let answerHeader = AnswerHeader(correlation: 1, status: .answered).encoded()
        let bad: [[[UInt8]]] = [
            [[]], [[0x41]], [good], [[], []], [Array(good.dropLast()), [1]], [answerHeader, [1]],
            [[UInt8](repeating: 0xFF, count: 4000), [1], [2], [3]],
        ]
        for frames in bad { raw.send(frames) }
        raw.send(.test(correlation: 2), "echo")
        let answer = try #require(try await raw.answerOrRefusal())
        #expect(AnswerHeader(decoding: answer[0])?.correlation == 2)
        #expect(try await bus.metric("bus_messages_undecodable_total") == bad.count)
        await bus.shutdown()
    }

    @Test func `refuses what is meant for another instance`() async throws {
        let fleet = try Fleet(.ipc)
        let peer = try await fleet.peer()
        let raw = try RawClient("ipc://\(fleet.folder)/\(peer.instance).req")
        raw.send(.test(target: "peer-2"), "echo")
        let answer = try #require(try await raw.answerOrRefusal())
        #expect(AnswerHeader(decoding: answer[0])?.status == .misdirected)
    }

    @Test func `counts an answer whose asker is gone`() async throws {
        let fleet = try Fleet(.ipc)
        let peer = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        // The peer notices a closed connection some time after its end: ask until it has.
        var asked = 0
        try await eventually("an answer is undeliverable") {
            asked += 1
            try await askAndLeave("ipc://\(fleet.folder)/\(peer.instance).req") {
                try await bus.ask("count") == String(asked)
            }
            _ = try await bus.ask("release")
            return try await bus.metric("bus_answers_undeliverable_total") >= 1
        }
        await bus.shutdown()
    }

    /// Asks for something that is held, and is gone before the answer.
    private func askAndLeave(
        _ endpoint: String,
        once isHeld: () async throws -> Bool
    ) async throws {
        let raw = try RawClient(endpoint)
        raw.send(.test(), "hold")
        try await eventually("it is held", isHeld)
    }
}
