import Telemetry
import Testing
import Transit

@testable import Messages

@Suite struct HostileBytesTests {
    private func decode<Message: WireMessage>(
        _ type: Message.Type,
        _ bytes: [UInt8]
    ) -> Result<Message, MessageError> {
        Result { () throws(MessageError) in try Message(decoding: bytes) }
    }

    /// Decodes and writes again what could be decoded.
    private func attempt<Message: WireMessage>(like message: Message, _ bytes: [UInt8]) {
        _ = try? decode(Message.self, bytes).get().encoded()
    }

    private func field(_ number: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [number << 3 | 2, UInt8(payload.count)] + payload
    }

    @Test(arguments: 0..<20) func `a message cut anywhere is refused or read, never a trap`(
        seed: Int
    ) {
        var random = RandomValues(seed: seed)
        for message in random.everyMessage() {
            let bytes = message.encoded()
            for length in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 200)) {
                attempt(like: message, Array(bytes.prefix(length)))
            }
        }
    }

    @Test(arguments: 0..<100) func `a message with changed bytes is never a trap`(seed: Int) {
        var random = RandomValues(seed: seed)
        for message in random.everyMessage() {
            var bytes = message.encoded()
            for _ in 0..<16 {
                guard !bytes.isEmpty else { break }
                let index = Int(random.next() % UInt64(bytes.count))
                bytes[index] = UInt8(truncatingIfNeeded: random.next())
                attempt(like: message, bytes)
            }
        }
    }

    @Test(arguments: 0..<100) func `random bytes are never a trap`(seed: Int) {
        var random = RandomValues(seed: seed)
        let bytes = (0..<(random.next() % 400)).map { _ in UInt8(truncatingIfNeeded: random.next())
        }
        for message in random.everyMessage() { attempt(like: message, bytes) }
    }

    @Test func `an empty message misses its request id`() {
        #expect(decode(RideRequest.self, []) == .failure(.missingField("request_id")))
        #expect(decode(Estimates.self, []) == .failure(.missingField("slot")))
    }

    @Test func `an id of another length is refused`() {
        let bytes = field(2, Array(repeating: 1, count: 15))
        #expect(decode(RideRequest.self, bytes) == .failure(.invalidField("request_id")))
    }

    @Test func `a request of a newer kind is told apart from rubbish`() {
        let bytes = field(2, Array(repeating: 1, count: 16)) + [0xA2, 0x06, 0x00]
        #expect(decode(RideRequest.self, bytes) == .failure(.unknownBody))
        #expect(decode(RideRequest.self, [0xFF]) == .failure(.malformed))
    }

    @Test func `fields of a newer release are passed over`() throws {
        var random = RandomValues(seed: 1)
        let estimates = random.estimates()
        // Field 1000 as varint, text, fixed64 and fixed32.
        let newer: [UInt8] =
            [0xC0, 0x3E, 0x07] + [0xC2, 0x3E, 0x02, 0x68, 0x69]
            + [0xC1, 0x3E, 1, 2, 3, 4, 5, 6, 7, 8] + [0xC5, 0x3E, 1, 2, 3, 4]
        #expect(try Estimates(decoding: estimates.encoded() + newer) == estimates)
        #expect(try Estimates(decoding: newer + estimates.encoded()) == estimates)
    }

    @Test func `a slot above 255 is refused`() {
        #expect(decode(Estimates.self, [0x18, 0xFF, 0x01]).map(\.slot) == .success(Slot(255)))
        #expect(decode(Estimates.self, [0x18, 0x80, 0x02]) == .failure(.invalidField("slot")))
    }

    @Test func `columns of unequal length are refused`() {
        // One slot, no epoch.
        #expect(decode(SlotTable.self, field(4, [7])) == .failure(.invalidField("slots")))
    }

    @Test func `a refusal code of a newer release reads as failed`() throws {
        let refusal = field(1, Array("new_trouble".utf8))
        let bytes = field(2, Array(repeating: 1, count: 16)) + [0x9A, 0x01, UInt8(refusal.count)]
        #expect(try RideReply(decoding: bytes + refusal).body == .refused(RideRefusal(.failed)))
    }

    @Test func `text that is not UTF-8 is repaired`() throws {
        let bytes = field(2, [0x61, 0xFF]) + [0x18, 0x01]
        #expect(try Estimates(decoding: bytes).instance == "a\u{FFFD}")
    }

    @Test func `a short message cannot cost much memory`() {
        // Half a million empty estimates in 1 MB would be 100 MB of structs.
        let bytes: [UInt8] = (0..<1_000_000).map { UInt8($0 % 2 == 0 ? 0x3A : 0) }
        #expect(decode(Estimates.self, bytes) == .failure(.malformed))
    }

    @Test func `a message over the limit is refused unread`() {
        let bytes = [UInt8](repeating: 0, count: MessageLimits.maximumBytes + 1)
        #expect(decode(Estimates.self, bytes) == .failure(.tooLong(bytes: bytes.count)))
    }

    @Test func `a message without a header gets a trace of its own`() throws {
        let first = try Estimates(decoding: [0x18, 0x01])
        let second = try Estimates(decoding: [0x18, 0x01])
        #expect(first.trace != second.trace)
    }

    @Test func `refusals speak without the content`() {
        #expect(MessageError.missingField("slot").description == "the message has no field slot")
    }
}
