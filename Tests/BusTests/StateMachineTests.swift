import Telemetry
import Testing

@testable import Bus

private func pending(
    _ correlation: UInt64,
    to instance: String = "a",
    deadline: UInt64 = 100,
    resend: Bool = true
) -> PendingRequest {
    PendingRequest(
        correlation: correlation,
        instance: instance,
        body: [],
        startedAt: 0,
        deadline: deadline,
        trace: .random(),
        resend: resend
    )
}

@Suite struct RequestLedgerTests {
    private func send(_ ledger: inout RequestLedger, _ instance: String = "a") -> [UInt64] {
        let requests = ledger.takeUnsent(instance)
        for request in requests { ledger.sent(request.correlation) }
        return requests.map(\.correlation)
    }

    @Test func `sends at most twice, what was lost before what is new`() {
        var ledger = RequestLedger()
        for correlation in 1...2 as ClosedRange<UInt64> { ledger.add(pending(correlation)) }
        #expect(send(&ledger) == [1, 2])
        ledger.add(pending(3))
        #expect(ledger.connectionLost("a").isEmpty)
        #expect(send(&ledger) == [1, 2, 3])
        #expect(ledger.connectionLost("a").map(\.correlation) == [1, 2])
        #expect(send(&ledger) == [3])
        #expect(ledger.connectionLost("a").map(\.correlation) == [3])
        #expect(ledger.isEmpty)
    }

    @Test func `fails at the first loss what must not be sent again`() {
        var ledger = RequestLedger()
        ledger.add(pending(1, resend: false))
        ledger.add(pending(2, to: "b", resend: false))
        #expect(send(&ledger) == [1])
        #expect(ledger.connectionLost("a").map(\.correlation) == [1])
        #expect(ledger.hasUnsent("b"))
    }

    @Test(arguments: [(UInt64(99), 0), (100, 1), (101, 1)])
    func `expires at the deadline`(now: UInt64, count: Int) {
        var ledger = RequestLedger()
        ledger.add(pending(1))
        ledger.add(pending(2, deadline: 200))
        #expect(ledger.nextDeadline == 100)
        #expect(ledger.expire(now: now).count == count)
        #expect(ledger.nextDeadline == (count == 0 ? 100 : 200))
        #expect(ledger.takeUnsent("a").count == 2 - count)
    }

    @Test func `puts back in order what the network did not take`() {
        var ledger = RequestLedger()
        for correlation in 1...3 as ClosedRange<UInt64> { ledger.add(pending(correlation)) }
        let waiting = ledger.takeUnsent("a")
        ledger.sent(1)
        ledger.add(pending(4))
        ledger.putBack(waiting[1...], for: "a")
        #expect(ledger.finish(3)?.correlation == 3)
        #expect(send(&ledger) == [2, 4])
    }

    @Test func `sends once more what arrived too old to judge`() {
        var ledger = RequestLedger()
        ledger.add(pending(1))
        #expect(send(&ledger) == [1])
        #expect(ledger.sendAgain(1) == nil)
        let again = ledger.takeUnsent("a")
        #expect(again.map(\.isFresh) == [true])
        ledger.sent(1)
        #expect(ledger.sendAgain(1)?.correlation == 1)
        #expect(ledger.isEmpty)
    }

    @Test func `takes out everything towards an instance that left`() {
        var ledger = RequestLedger()
        ledger.add(pending(1))
        ledger.add(pending(2, to: "b"))
        #expect(ledger.instanceLeft("a").map(\.correlation) == [1])
        #expect(ledger.finish(2) != nil)
        #expect(ledger.isEmpty)
    }
}

@Suite struct ServingQueueTests {
    private func received(_ correlation: UInt64, deadline: UInt64 = 100) -> ReceivedRequest {
        ReceivedRequest(
            route: [],
            correlation: correlation,
            sender: "",
            trace: .random(),
            deadline: deadline,
            body: []
        )
    }

    private func run(_ queue: inout ServingQueue, now: UInt64 = 0) -> [String] {
        var events: [String] = []
        while let next = queue.next(now: now) {
            switch next {
            case .run(let request): events.append("run \(request.correlation)")
            case .expired(let request): events.append("expired \(request.correlation)")
            }
        }
        return events
    }

    @Test func `runs so many at once, keeps so many waiting, refuses the next`() {
        var queue = ServingQueue(runningLimit: 2, waitingLimit: 1)
        for correlation in 1...2 as ClosedRange<UInt64> {
            let isAccepted1 = queue.accept(received(correlation))
            #expect(isAccepted1)
        }
        #expect(run(&queue) == ["run 1", "run 2"])
        let isAccepted2 = queue.accept(received(3))
        #expect(isAccepted2)
        let isAccepted3 = queue.accept(received(4))
        #expect(!isAccepted3)
        #expect(run(&queue).isEmpty)
        queue.finished()
        #expect(run(&queue) == ["run 3"])
        queue.finished()
        queue.finished()
        #expect(queue.isIdle)
    }

    @Test(arguments: [(UInt64(99), "run 1"), (100, "expired 1")])
    func `does not run what is past its deadline`(now: UInt64, event: String) {
        var queue = ServingQueue(runningLimit: 1, waitingLimit: 10)
        let isAccepted4 = queue.accept(received(1))
        #expect(isAccepted4)
        #expect(run(&queue, now: now) == [event])
    }

    @Test func `keeps its order over many turns`() {
        var queue = ServingQueue(runningLimit: 1, waitingLimit: 5000)
        for correlation in 0..<2000 as Range<UInt64> {
            let isAccepted5 = queue.accept(received(correlation))
            #expect(isAccepted5)
        }
        for correlation in 0..<2000 {
            #expect(run(&queue) == ["run \(correlation)"])
            queue.finished()
        }
        #expect(queue.isIdle)
    }
}

@Suite struct SubscriptionTrackerTests {
    private func header(
        _ form: PublicationHeader.Form,
        _ sequence: UInt64,
        key: String = "k",
        epoch: UInt64 = 1
    ) -> PublicationHeader {
        PublicationHeader(
            form: form,
            epoch: epoch,
            sequence: sequence,
            trace: .random(),
            instance: "a",
            topic: "t",
            key: key
        )
    }

    @Test func `counts gaps between live publications only`() {
        var tracker = SubscriptionTracker()
        #expect(tracker.judge(header(.retained, 3)) == .deliver(missed: 0))
        #expect(tracker.judge(header(.complete, 7)) == .complete(missed: 0))
        #expect(tracker.judge(header(.live, 8)) == .deliver(missed: 0))
        #expect(tracker.judge(header(.live, 11)) == .deliver(missed: 2))
        #expect(tracker.judge(header(.complete, 14)) == .complete(missed: 3))
        #expect(tracker.judge(header(.live, 15)) == .deliver(missed: 0))
    }

    @Test func `hands a retained state over only if it is news for its key`() {
        var tracker = SubscriptionTracker()
        #expect(tracker.judge(header(.live, 5)) == .deliver(missed: 0))
        #expect(tracker.judge(header(.retained, 5)) == .repeated)
        #expect(tracker.judge(header(.retained, 4)) == .repeated)
        #expect(tracker.judge(header(.retained, 4, key: "other")) == .deliver(missed: 0))
        #expect(tracker.judge(header(.retained, 6)) == .deliver(missed: 0))
    }

    @Test func `begins afresh with another start and ignores the one before`() {
        var tracker = SubscriptionTracker()
        #expect(tracker.judge(header(.live, 90, epoch: 2)) == .deliver(missed: 0))
        #expect(tracker.judge(header(.live, 1, epoch: 1)) == .deliver(missed: 0))
        #expect(tracker.judge(header(.live, 91, epoch: 2)) == .repeated)
        #expect(tracker.judge(header(.live, 2, epoch: 1)) == .deliver(missed: 0))
    }
}

@Suite struct WireTests {
    @Test func `reads what it writes, and nothing shorter`() {
        let request = RequestHeader.test()
        let answer = AnswerHeader(correlation: .max, status: .busy)
        let publication = PublicationHeader(
            form: .retained,
            epoch: 1,
            sequence: 2,
            trace: .random(),
            instance: "feed-1",
            topic: "feed",
            key: "Käfig"
        )
        #expect(RequestHeader(decoding: request.encoded()) == request)
        var fresh = request
        fresh.isFresh = true
        #expect(RequestHeader(decoding: fresh.encoded()) == fresh)
        #expect(AnswerHeader(decoding: answer.encoded()) == answer)
        for isComplete in [true, false] {
            let goodbye = Goodbye(isComplete: isComplete)
            #expect(Goodbye(decoding: goodbye.encoded()) == goodbye)
            #expect(AnswerHeader(decoding: goodbye.encoded()) == nil)
        }
        #expect(PublicationHeader(decoding: publication.encoded()) == publication)
        for length in 0..<request.encoded().count {
            #expect(RequestHeader(decoding: Array(request.encoded().prefix(length))) == nil)
        }
        for length in 0..<publication.encoded().count {
            #expect(PublicationHeader(decoding: Array(publication.encoded().prefix(length))) == nil)
        }
    }

    @Test func `skips what a later version adds at the end`() {
        let request = RequestHeader.test()
        var bytes = request.encoded() + [1, 2, 3]
        bytes[2] = 9
        #expect(RequestHeader(decoding: bytes) == request)
    }

    @Test(arguments: 0..<300)
    func `survives any bytes`(seed: UInt64) {
        var generator = SplitMix(state: seed)
        var bytes = RequestHeader.test().encoded()
        for _ in 0..<3 {
            bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(
                truncatingIfNeeded: generator.next()
            )
        }
        _ = RequestHeader(decoding: bytes)
        _ = PublicationHeader(decoding: bytes)
        _ = AnswerHeader(decoding: bytes)
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
