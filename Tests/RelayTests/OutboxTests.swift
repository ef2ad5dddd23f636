import TestKit
import Testing
import Transit

@testable import RelayService

/// What waits for a client: merged, in order, and taken back (spec 2.5, 5.40, 5.41).
@Suite struct OutboxTests {
    private let anna = UniqueID(high: 1, low: 1)
    private let ben = UniqueID(high: 1, low: 2)
    private let circle = UniqueID(high: 2, low: 1)
    private let convoy = UniqueID(high: 2, low: 2)

    private func position(_ serial: UInt64, _ account: UniqueID) -> Position {
        Position(serial: serial, account: account, row: Array("\(serial)".utf8))
    }

    private func left(
        _ text: String,
        group: UniqueID? = nil,
        sender: UniqueID? = nil
    ) -> Outbox.Frame {
        Outbox.Frame(bytes: Array(text.utf8), group: group, sender: sender)
    }

    /// What is in an outbox, lists of positions by their rows.
    private func frames(_ outbox: Outbox, limit: Int = 100) -> [String] {
        var composer = PositionComposer()
        return outbox.next(limit, &composer).map(\.bytes).map { bytes in
            guard bytes.first == 0x81 else { return String(decoding: bytes, as: UTF8.self) }
            let text = String(decoding: WebSocketBytes.payload(bytes), as: UTF8.self)
            return String(text.dropFirst(#"{"type":"positions","peers":["#.count).dropLast(2))
        }
    }

    @Test func `the newest position of each rider is in one frame`() {
        var outbox = Outbox()
        for (serial, account) in [(1, anna), (2, ben), (3, anna)] as [(UInt64, UniqueID)] {
            outbox.add(position(serial, account))
        }
        #expect(frames(outbox) == ["2,3"])
    }

    @Test func `another frame parts positions and keeps its place`() {
        var outbox = Outbox()
        outbox.add(position(1, anna))
        outbox.add(left("left"))
        outbox.add(position(2, anna))
        #expect(frames(outbox) == ["1", "left", "2"])
        #expect(frames(outbox, limit: 2) == ["1", "left"])
        outbox.drop(2)
        #expect(frames(outbox) == ["2"])
        #expect(outbox.frameCount == 0)
        outbox.drop(1)
        #expect(outbox.isEmpty)
    }

    @Test func `positions that were replaced before they were sent do not count as sent`() {
        var outbox = Outbox()
        var composer = PositionComposer()
        for serial in 1...20 as ClosedRange<UInt64> {
            outbox.add(position(serial, serial % 2 == 0 ? anna : ben))
        }
        outbox.add(left("left"))
        outbox.add(position(21, anna))
        // What was made for another client is counted alike.
        for _ in 0..<2 { #expect(outbox.next(9, &composer).map(\.positions) == [2, 0, 1]) }
    }

    @Test func `a client that reads nothing holds one position of each rider`() {
        var outbox = Outbox()
        for serial in 1...10_000 {
            outbox.add(position(UInt64(serial), serial % 2 == 0 ? anna : ben))
        }
        #expect(outbox.positionCount < 64)
        #expect(frames(outbox) == ["9999,10000"])
    }

    @Test func `what someone caused in a group is taken back, and their positions`() {
        var outbox = Outbox()
        outbox.add(position(1, anna))
        outbox.add(position(2, ben))
        outbox.add(left("vote of anna", group: convoy, sender: anna))
        outbox.add(left("event of anna elsewhere", group: circle, sender: anna))
        outbox.add(left("vote of ben", group: convoy, sender: ben))
        outbox.add(position(3, anna))
        outbox.takeBack(anna, in: convoy)
        #expect(frames(outbox) == ["2", "event of anna elsewhere", "vote of ben"])
        #expect(outbox.frameCount == 2)
    }

    @Test func `what can be read over HTTP all the same may stay`() {
        for keepsStored in [false, true] {
            var outbox = Outbox()
            outbox.add(position(1, anna))
            outbox.add(left("vote", group: circle, sender: anna))
            var event = left("event", group: circle, sender: anna)
            event.isStored = true
            outbox.add(event)
            outbox.takeBack(anna, in: circle, keepsStored: keepsStored)
            #expect(frames(outbox) == (keepsStored ? ["event"] : []))
        }
    }

    @Test func `who may not see a group loses what waits of it, and all positions`() {
        var outbox = Outbox()
        outbox.add(position(1, anna))
        outbox.add(left("joined", group: convoy))
        outbox.add(left("joined elsewhere", group: circle))
        outbox.add(left("pong"))
        outbox.takeBack(group: convoy)
        #expect(frames(outbox) == ["joined elsewhere", "pong"])
    }

    @Test func `equal lists are encoded once`() {
        var composer = PositionComposer()
        let list = (1...16).map { position(UInt64($0), UniqueID(high: 0, low: UInt64($0))) }
        for _ in 0..<1000 {
            var outbox = Outbox()
            for entry in list { outbox.add(entry) }
            _ = outbox.next(1, &composer)
        }
        #expect(composer.madeCount == 1)
        composer.forget()
        _ = composer.frame(of: list)
        #expect(composer.madeCount == 2)
    }

    @Test(arguments: 0..<50)
    func `any sequence keeps the order of frames and the newest of positions`(
        seed: Int
    ) {
        var random = SeededGenerator(seed: seed)
        var outbox = Outbox()
        var expected: [[UInt64: UInt64]] = [[:]]
        var texts: [String] = []
        for serial in 1...UInt64.random(in: 1...300, using: &random) {
            if UInt8.random(in: 0..<10, using: &random) == 0 {
                outbox.add(left("f\(serial)"))
                texts.append("f\(serial)")
                expected.append([:])
            } else {
                let account = UInt64.random(in: 0..<8, using: &random)
                outbox.add(position(serial, UniqueID(high: 0, low: account)))
                expected[expected.count - 1][account] = serial
            }
        }
        var seen: [String] = []
        while !outbox.isEmpty {
            let next = frames(outbox, limit: Int.random(in: 1...5, using: &random))
            seen += next
            outbox.drop(next.count)
        }
        var wanted: [String] = []
        for (index, run) in expected.enumerated() {
            if !run.isEmpty {
                wanted.append(run.values.sorted().map { "\($0)" }.joined(separator: ","))
            }
            if index < texts.count { wanted.append(texts[index]) }
        }
        #expect(seen == wanted)
    }
}
