import RealtimeFeed
import Testing

@Suite struct HostileFeedTests {
    private func decode(_ bytes: [UInt8]) -> Result<FeedMessage, FeedDecodingError> {
        Result { () throws(FeedDecodingError) in try FeedMessage(decoding: bytes) }
    }

    private let header: [UInt8] = [0x0A, 0x05, 0x0A, 0x03] + Array("2.0".utf8)

    @Test func `no bytes are no feed, as the header is required`() {
        #expect(decode([]) == .failure(.malformed))
        #expect((try? decode(header).get())?.entities.isEmpty == true)
    }

    @Test(arguments: [
        Array("<html>".utf8), Array("{}".utf8), [0xFF], [0x0A, 0xFF],
        [UInt8](repeating: 0, count: 9),
    ]) func `what is no feed is refused`(bytes: [UInt8]) {
        #expect(decode(bytes) == .failure(.malformed))
    }

    @Test func `a position without its required longitude is refused`() {
        // entity { id "a" vehicle { position { latitude } } }
        let position: [UInt8] = [0x12, 0x05, 0x0D, 0, 0, 0, 0]
        let entity: [UInt8] = [0x0A, 0x01, 0x61, 0x22, UInt8(position.count)] + position
        #expect(decode(header + [0x12, UInt8(entity.count)] + entity) == .failure(.malformed))
    }

    @Test func `a value of an enumeration that we do not know reads as absent`() throws {
        // entity { id "a" vehicle { current_status 77 } }
        let feed = try decode(header + [0x12, 0x07, 0x0A, 0x01, 0x61, 0x22, 0x02, 0x20, 77]).get()
        #expect(feed.entities[0].vehicle?.currentStatus == nil)
        #expect(feed.entities[0].vehicle != nil)
    }

    @Test func `every cut of a feed is refused or read, never a trap`() {
        let bytes = Samples.everything.encoded()
        for length in bytes.indices { _ = decode(Array(bytes.prefix(length))) }
    }

    @Test(arguments: 0..<50) func `changed bytes are never a trap`(seed: Int) {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        func random() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
        let original = Samples.everything.encoded()
        for _ in 0..<40 {
            var bytes = original
            for _ in 0..<(1 + random() % 8) {
                bytes[Int(random() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random())
            }
            if let feed = try? decode(bytes).get() {
                // What could be read can be written, checked and printed.
                _ = feed.json()
                _ = feed.geoJSON()
                _ = feed.complianceFindings(now: Samples.now)
                _ = feed.encoded()
            }
        }
    }

    @Test func `a small feed of empty parts cannot cost much memory`() {
        // Empty stop time updates: two bytes each that ask for a struct of a hundred and more.
        let updates: [UInt8] = (0..<600_000).map { $0 % 2 == 0 ? 0x12 : 0 }
        func length(_ value: Int) -> [UInt8] {
            [UInt8(value & 127 | 128), UInt8(value >> 7 & 127 | 128), UInt8(value >> 14)]
        }
        let update = [0x1A] + length(updates.count) + updates
        let entity: [UInt8] = [0x0A, 0x01, 0x61] + update
        let bytes = header + [0x12] + length(entity.count) + entity
        #expect(decode(bytes) == .failure(.malformed))
    }

    @Test func `a feed over the limit is refused unread`() {
        let bytes = [UInt8](repeating: 0, count: FeedMessage.maximumBytes + 1)
        #expect(decode(bytes) == .failure(.tooLong(bytes: bytes.count)))
    }
}
