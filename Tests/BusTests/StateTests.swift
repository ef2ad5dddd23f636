import Synchronization
import Telemetry
import TestKit
import Testing

@testable import Bus

/// What a subscriber of a test heard.
private final class Heard: Sendable {
    private let state = Mutex<(bodies: [String: String], count: Int, epochs: [UInt64])>(
        ([:], 0, [])
    )

    func note(_ publication: BusPublication) {
        state.withLock { state in
            state.bodies[publication.key] = String(decoding: publication.body, as: UTF8.self)
            state.count += 1
            if state.epochs.last != publication.epoch { state.epochs.append(publication.epoch) }
        }
    }

    var bodies: [String: String] { state.withLock { $0.bodies } }
    var count: Int { state.withLock { $0.count } }
    var epochs: [UInt64] { state.withLock { $0.epochs } }
}

@Suite(.timeLimit(.minutes(1)))
struct StateTests {
    @Test(arguments: Network.allCases)
    func `tells a late subscriber the whole state`(network: Network) async throws {
        let fleet = try Fleet(network)
        _ = try await fleet.peer("peer-1", "states=300")
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, knowing: "peer-1")
        let heard = Heard()
        bus.subscribe(topic: "state", of: "peer") { heard.note($0) }
        try await eventually("all is heard") { heard.bodies.count == 300 }
        #expect(heard.bodies["k299"] == "s299")
        #expect(heard.count == 300)
        #expect(metrics.value("bus_publications_missed_total") == 0)
        await bus.shutdown()
    }

    @Test func `tells the whole state to the late subscriber alone`() async throws {
        let fleet = try Fleet(.ipc)
        let bus = try await fleet.bus(serving: { $0.body })
        let record = try #require(bus.record)
        bus.publish(topic: "feed", key: "a", body: Array("1".utf8))
        let hear = [
            "hear=feed", "from=tester",
            "peers=tester=tester@\(record.requestEndpoint)|\(record.publishEndpoint)",
        ]
        _ = try await fleet.peer("peer-1", hear[0], hear[1], hear[2])
        try await eventually("peer-1 is known") { bus.instances(of: "peer") == ["peer-1"] }
        try await eventually("peer-1 hears it") { try await bus.ask("heard a") == "1" }
        bus.publish(topic: "feed", key: "b", body: Array("2".utf8))
        _ = try await fleet.peer("peer-2", hear[0], hear[1], hear[2])
        try await eventually("peer-2 is known") { bus.instances(of: "peer").count == 2 }
        for instance in ["peer-1", "peer-2"] {
            try await eventually("\(instance) hears both") {
                try await bus.ask("heard b", of: instance) == "2"
            }
            #expect(try await bus.ask("heardCount", of: instance) == "2")
            #expect(
                try await bus.metric("bus_publications_repeated_total", of: instance) == 0
            )
        }
        await bus.shutdown()
    }

    @Test func `does not tell what was retracted or not to be retained`() async throws {
        let fleet = try Fleet(.ipc)
        let bus = try await fleet.bus()
        let record = try #require(bus.record)
        bus.publish(topic: "feed", key: "kept", body: Array("1".utf8))
        bus.publish(topic: "feed", key: "once", body: Array("1".utf8), retain: false)
        bus.publish(topic: "feed", key: "gone", body: Array("1".utf8))
        bus.retract(topic: "feed", key: "gone")
        _ = try await fleet.peer(
            "peer-1",
            "hear=feed",
            "from=tester",
            "peers=tester=tester@\(record.requestEndpoint)|\(record.publishEndpoint)"
        )
        try await eventually("peer-1 is known") { bus.instances(of: "peer") == ["peer-1"] }
        try await eventually("peer-1 hears") { try await bus.ask("heard kept") == "1" }
        #expect(try await bus.ask("heardCount") == "1")
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `tells a restarted publisher apart and hears it afresh`(network: Network) async throws {
        let fleet = try Fleet(network)
        let first = try await fleet.peer("peer-1", "states=2")
        let bus = try await fleet.bus(knowing: "peer-1")
        let heard = Heard()
        bus.subscribe(topic: "state", of: "peer") { heard.note($0) }
        try await eventually("the first start is heard") { heard.count == 2 }
        first.kill()
        _ = try await fleet.peer("peer-1", "states=3")
        try await eventually("the second start is heard") { heard.bodies.count == 3 }
        #expect(heard.epochs.count == 2)
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `loses messages of a slow subscriber, counts them and heals`(
        network: Network
    ) async throws {
        let fleet = try Fleet(network)
        var limits = BusLimits()
        limits.subscriberQueue = 100
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, limits: limits)
        let record = try #require(bus.record)
        let peer = try await fleet.peer(
            "peer-1",
            "hear=feed",
            "from=tester",
            "subscriberQueue=10",
            "peers=tester=tester@\(record.requestEndpoint)|\(record.publishEndpoint)"
        )
        try await eventually("peer-1 is known") { bus.instances(of: "peer") == ["peer-1"] }
        bus.publish(topic: "feed", key: "k", body: Array("first".utf8))
        try await eventually("peer-1 hears") { try await bus.ask("heard k") == "first" }
        peer.freeze()
        bus.publish(topic: "feed", key: "healed", body: Array("yes".utf8))
        // Far more than the queues and the kernel's buffers hold; a retained body that waits would
        // be overtaken, so these are not retained.
        let body = [UInt8](repeating: 1, count: 20_000)
        let before = metrics.value("bus_publications_sent_total")
        for count in 1...2000 {
            bus.publish(topic: "feed", key: "flood", body: body, retain: false)
            try await eventually("the publisher goes on", within: .seconds(2)) {
                metrics.value("bus_publications_sent_total") >= before + count - 500
            }
        }
        bus.publish(topic: "feed", key: "k", body: Array("last".utf8))
        try await eventually("everything left the queue") {
            metrics.value("bus_publications_sent_total") >= before + 2001
        }
        peer.thaw()
        try await eventually("the state is whole again") {
            let (last, healed) = try await (bus.ask("heard k"), bus.ask("heard healed"))
            return last == "last" && healed == "yes"
        }
        #expect(try await bus.metric("bus_publications_missed_total") > 0)
        await bus.shutdown()
    }

    @Test(arguments: [64 << 10, 5 << 20])
    func `carries large states`(bytes: Int) async throws {
        let fleet = try Fleet(.tcp)
        let bus = try await fleet.bus()
        let record = try #require(bus.record)
        _ = try await fleet.peer(
            "peer-1",
            "hear=feed",
            "from=tester",
            "peers=tester=tester@\(record.requestEndpoint)|\(record.publishEndpoint)"
        )
        try await eventually("peer-1 is known") { bus.instances(of: "peer") == ["peer-1"] }
        bus.publish(topic: "feed", body: [UInt8](repeating: 0x61, count: bytes))
        try await eventually("it is heard") { try await bus.ask("heardCount") == "1" }
        await bus.shutdown()
    }

    @Test func `drops and counts what passes the limits`() async throws {
        let fleet = try Fleet(.ipc)
        var limits = BusLimits()
        limits.messageBytes = 100
        limits.retainedStates = 1
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, limits: limits)
        bus.publish(topic: "feed", body: [UInt8](repeating: 1, count: 101))
        bus.publish(topic: "feed", key: String(repeating: "k", count: 201), body: [])
        #expect(metrics.value("bus_publications_dropped_total") == 2)
        bus.publish(topic: "feed", key: "a", body: [UInt8](repeating: 1, count: 100))
        bus.publish(topic: "feed", key: String(repeating: "k", count: 200), body: [])
        try await eventually("both are sent") {
            metrics.value("bus_publications_sent_total") == 2
        }
        #expect(metrics.value("bus_states_unretained_total") == 1)
        await bus.shutdown()
    }
}
