import Bus
import Messages
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import RiderIngestService

/// Finding the owner of a slot, and giving up in time; all waiting is on a manual clock.
@Suite(.timeLimit(.minutes(1))) struct VerifierClientTests {
    private let body = RideRequest.Body.tripStatus(TripStatusQuery(tripID: "T", receivedAt: 1))
    private let away = RideReply.Body.refused(RideRefusal(.unavailable, retryAfterSeconds: 2))

    @Test func `asks the owner of the slot`() async {
        let verifiers = FakeVerifiers { _, _ in .reply(.erased) }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a", [Slot(1), Slot(2)]))
        client.heard(.of("b", [Slot(3)]))
        #expect(client.knownSlots == 3)
        for slot in [3, 1, 2] as [UInt8] {
            #expect(await client.ask(body, slot: Slot(slot), trace: .random()) == .erased)
        }
        #expect(verifiers.instances == ["b", "a", "a"])
        #expect(verifiers.asks.allSatisfy { $0.timeout == .seconds(8) })
    }

    @Test func `follows the hint of one who is not the owner`() async {
        let verifiers = FakeVerifiers { ask, _ in
            ask.instance == "b"
                ? .reply(.erased) : .reply(.refused(RideRefusal(.notOwner, owner: "b")))
        }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a"))
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(verifiers.instances == ["a", "b", "b"])
        #expect(verifiers.asks[0].request == verifiers.asks[1].request)
    }

    @Test func `waits for an owner and asks it with the time that is left`() async {
        let verifiers = FakeVerifiers { _, _ in .reply(.erased) }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        verifiers.whenWaiting { elapsed in
            if elapsed >= .seconds(7) { client.heard(.of("b")) }
        }
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(verifiers.asks.map(\.timeout) == [.seconds(1)])
    }

    @Test func `a refusal without a hint waits for the table`() async {
        let verifiers = FakeVerifiers { ask, _ in
            ask.instance == "b" ? .reply(.erased) : .reply(.refused(RideRefusal(.notOwner)))
        }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a"))
        verifiers.whenWaiting { elapsed in
            if elapsed >= .seconds(2) { client.heard(.of("b", epoch: 2)) }
        }
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(verifiers.instances == ["a", "b"])
    }

    @Test func `gives up after eight seconds`() async {
        let verifiers = FakeVerifiers { _, _ in .reply(.erased) }
        let metrics = Metrics()
        let client = VerifierClient(verifiers.transport, metrics: metrics)
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == away)
        #expect(verifiers.elapsed == .seconds(8))
        #expect(verifiers.asks.isEmpty)
        #expect(metrics.rendered().contains("verifier_requests_unowned_total 1\n"))
    }

    @Test func `an owner that does not live is none`() {
        let verifiers = FakeVerifiers { _, _ in .reply(.erased) }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a", [Slot(1), Slot(2)]))
        client.heard(.of("b", [Slot(3)]))
        verifiers.setLiving(["b"])
        #expect(client.knownSlots == 1)
    }

    @Test func `two thousand may wait, who comes after them is refused at once`() async {
        let verifiers = FakeVerifiers { _, _ in .reply(.erased) }
        let metrics = Metrics()
        let gate = Gate()
        var transport = verifiers.transport
        transport.sleep = { _ in await gate.pass() }
        let client = VerifierClient(transport, metrics: metrics)
        await withTaskGroup(of: RideReply.Body.self) { group in
            for _ in 0..<VerifierClient.waitingLimit {
                group.addTask { await client.ask(body, slot: Slot(9), trace: .random()) }
            }
            while client.waitingRequests < VerifierClient.waitingLimit { await Task.yield() }
            #expect(await client.ask(body, slot: Slot(9), trace: .random()) == away)
            #expect(metrics.rendered().contains("verifier_requests_refused_total 1\n"))
            client.heard(.of("a"))
            gate.open()
            for await reply in group { #expect(reply == .erased) }
        }
        #expect(client.waitingRequests == 0)
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
    }

    @Test func `the server admits as many as may wait for verifiers, and some more`() {
        // Else it would refuse before the client does, which knows what verifiers can take.
        #expect(VerifierClient.waitingLimit == 2000)
        #expect(RiderIngest.maximumWaitingRequests >= VerifierClient.waitingLimit + 256)
        #expect(RiderIngest.parts([]).maximumWaitingRequests == RiderIngest.maximumWaitingRequests)
        #expect(RiderIngest.parts([]).maximumConnections == RiderIngest.maximumWaitingRequests)
    }

    @Test func `no owner in time is 503 with Retry-After 2`() async throws {
        try await withIngest(answering: .reply(.refused(RideRefusal(.notOwner)))) {
            ingest async throws in
            let answer = try await ingest.post("rides", "{\"trip_id\":\"T\"}")
            #expect(answer.status == 503)
            #expect(answer.headers.first("Retry-After") == "2")
            #expect(
                answer.text
                    == refusal("verification unavailable, try again", "verification.unavailable")
            )
            #expect(ingest.verifiers.elapsed == .seconds(8))
        }
    }

    // MARK: - Broken connections

    @Test func `a lost connection is tried once more with the same request`() async {
        let verifiers = FakeVerifiers { ask, index in
            index == 0 ? .fault(.connectionLost(ask.instance)) : .reply(.erased)
        }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a"))
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(verifiers.asks.count == 2)
        #expect(verifiers.asks[0].request.requestID == verifiers.asks[1].request.requestID)
    }

    @Test func `a lost connection is never tried twice more`() async {
        let verifiers = FakeVerifiers { ask, _ in .fault(.connectionLost(ask.instance)) }
        let metrics = Metrics()
        let client = VerifierClient(verifiers.transport, metrics: metrics)
        client.heard(.of("a"))
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == away)
        #expect(verifiers.asks.count == 2)
        #expect(metrics.rendered().contains("verifier_requests_lost_total 2\n"))
    }

    @Test func `the once more goes to the successor of one that died`() async {
        let verifiers = FakeVerifiers { ask, _ in
            ask.instance == "a" ? .fault(.connectionLost("a")) : .reply(.erased)
        }
        verifiers.setLiving(["b"])
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a"))
        verifiers.whenWaiting { elapsed in
            if elapsed >= .seconds(1) { client.heard(.of("b", epoch: 2)) }
        }
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(verifiers.instances == ["a", "b"])
    }

    @Test func `an owner that froze is not asked again while another takes over`() async {
        let verifiers = FakeVerifiers { ask, _ in
            ask.instance == "a" ? .fault(.connectionLost("a")) : .reply(.erased)
        }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a"))
        verifiers.whenWaiting { elapsed in
            if elapsed >= .milliseconds(500) { client.heard(.of("b", epoch: 2)) }
        }
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(verifiers.instances == ["a", "b"])
        #expect(verifiers.elapsed == .milliseconds(500))
    }

    @Test func `an owner whose connection alone broke is asked again within a second`() async {
        let verifiers = FakeVerifiers { ask, index in
            index == 0 ? .fault(.connectionLost(ask.instance)) : .reply(.erased)
        }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a"))
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(verifiers.instances == ["a", "a"])
        #expect(verifiers.elapsed == .seconds(1))
    }

    @Test(arguments: [BusError.timeout("a"), .cancelled])
    func `an unknown outcome is not tried again`(fault: BusError) async {
        let verifiers = FakeVerifiers { _, _ in .fault(fault) }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a"))
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == away)
        #expect(verifiers.asks.count == 1)
    }

    @Test(arguments: [BusError.full("a"), .busy("a"), .closing("a"), .unreachable("a")])
    func `what never ran is tried until it runs`(fault: BusError) async {
        let verifiers = FakeVerifiers { _, index in index < 5 ? .fault(fault) : .reply(.erased) }
        let client = VerifierClient(verifiers.transport, metrics: Metrics())
        client.heard(.of("a"))
        #expect(await client.ask(body, slot: Slot(9), trace: .random()) == .erased)
        #expect(verifiers.asks.count == 6)
        #expect(verifiers.elapsed == .milliseconds(250))
    }

    @Test(arguments: [[], [0xFF, 0xFF, 0xFF]] as [[UInt8]])
    func `an answer that does not decode is 500`(bytes: [UInt8]) async throws {
        try await withIngest(answering: .bytes(bytes)) { ingest async throws in
            let answer = try await ingest.post("rides", "{\"trip_id\":\"T\"}")
            #expect(answer.status == 500)
            #expect(answer.text == refusal("internal server error", "internal"))
            #expect(ingest.verifiers.asks.count == 1)
        }
    }
}

/// Holds everyone until it is opened.
private final class Gate: Sendable {
    private let held = Mutex<[CheckedContinuation<Void, Never>]?>([])

    func open() {
        let all = held.withLock { held in
            defer { held = nil }
            return held ?? []
        }
        for continuation in all { continuation.resume() }
    }

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = held.withLock { held in
                held?.append(continuation)
                return held == nil
            }
            if isOpen { continuation.resume() }
        }
    }
}
