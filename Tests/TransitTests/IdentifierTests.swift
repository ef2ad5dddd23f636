import Testing
import Transit

@Suite struct IdentifierTests {
    @Test func `keeps canonically equal texts apart`() {
        let composed: StopID = "caf\u{E9}"
        let decomposed: StopID = "cafe\u{301}"
        #expect(composed.rawValue == decomposed.rawValue)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test(arguments: [("", "a"), ("a", "b"), ("a", "aa"), ("Z", "a"), ("é", "\u{10000}")])
    func `orders by bytes`(pair: (String, String)) {
        #expect(TripID(pair.0) < TripID(pair.1))
        #expect(!(TripID(pair.1) < TripID(pair.0)))
    }

    @Test func `orders trip instances by id and then date`() throws {
        let first = try #require(ServiceDate("20260101"))
        let instances = [
            TripInstance(tripID: "b", startDate: first),
            TripInstance(tripID: "a", startDate: first.adding(days: 1)),
            TripInstance(tripID: "a", startDate: first),
        ]
        #expect(
            instances.sorted().map(\.description) == ["a:20260101", "a:20260102", "b:20260101"]
        )
    }
}

@Suite struct SlotTests {
    // Values of the FNV authors' test vectors.
    @Test(arguments: [
        ("", 0xCBF2_9CE4_8422_2325 as UInt64), ("a", 0xAF63_DC4C_8601_EC8C),
        ("foobar", 0x8594_4171_F739_67E8),
    ])
    func `hashes as FNV-1a does`(text: String, expected: UInt64) {
        #expect(FNV1a.hash(text.utf8) == expected)
        #expect(Slot(of: TripID(text)).rawValue == UInt8(truncatingIfNeeded: expected))
    }

    @Test func `lists every slot once`() {
        #expect(Slot.all.count == 256)
        #expect(Slot.all.first?.rawValue == 0)
        #expect(Slot.all.last?.rawValue == 255)
    }
}

@Suite struct UniqueIDTests {
    static let text = "0190a8f2-7c3e-7abc-8def-0123456789ab"

    @Test func `reads any case and writes lower case`() throws {
        let id = try #require(UniqueID(Self.text.uppercased()))
        #expect(id.description == Self.text)
        #expect(id.high == 0x0190_A8F2_7C3E_7ABC)
        #expect(id.low == 0x8DEF_0123_4567_89AB)
        #expect(UniqueID(bytes: id.bytes) == id)
    }

    @Test(arguments: [
        "", "0190a8f27c3e7abc8def0123456789ab", "0190a8f2-7c3e-7abc-8def-0123456789a",
        "0190a8f2-7c3e-7abc-8def-0123456789abc", "0190a8f2-7c3e-7abc-8def-0123456789ag",
        "0190a8f27-c3e-7abc-8def-0123456789ab", "{190a8f2-7c3e-7abc-8def-0123456789a}",
        "0190a8f2-7c3e-7abc-8def-01234567é9a",
    ])
    func `refuses what is not 8-4-4-4-12`(text: String) {
        #expect(UniqueID(text) == nil)
    }

    @Test(arguments: [0, 15, 17]) func `refuses other than 16 bytes`(count: Int) {
        #expect(UniqueID(bytes: [UInt8](repeating: 0, count: count)) == nil)
    }

    @Test func `stamps version and variant`() {
        for raw in UInt8.min...UInt8.max {
            let ride = UniqueID.ride(slot: Slot(raw))
            #expect(ride.slot.rawValue == raw)
            #expect(ride.high >> 12 & 0xF == 8)
            #expect(ride.low >> 62 == 2)
            let random = UniqueID.random()
            #expect(random.high >> 12 & 0xF == 4)
            #expect(random.low >> 62 == 2)
        }
        #expect(UniqueID.random() != UniqueID.random())
    }

    @Test func `orders by bytes`() {
        #expect(UniqueID(high: 1, low: 0) > UniqueID(high: 0, low: .max))
        #expect(UniqueID(high: 1, low: 1) > UniqueID(high: 1, low: 0))
    }
}
