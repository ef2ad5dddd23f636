import RealtimeFeed
import Testing
import Transit

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

    @Test(
        arguments: [
            (FeedLimits(entities: 4, vehicles: 2), nil),
            (FeedLimits(entities: 3, vehicles: 2), .tooMany("entities", limit: 3)),
            (FeedLimits(entities: 4, vehicles: 1), .tooMany("vehicles", limit: 1)),
            (FeedLimits(stopTimes: 3), nil),
            (FeedLimits(stopTimes: 2), .tooMany("stop times", limit: 2)),
            (FeedLimits(entities: 0), .tooMany("entities", limit: 0)),
            (FeedLimits(vehicles: 0), .tooMany("vehicles", limit: 0)),
        ] as [(FeedLimits, FeedDecodingError?)]
    )
    func `a feed with more parts than are read is refused as a whole`(
        limits: FeedLimits,
        refusal: FeedDecodingError?
    ) {
        let vehicle = VehiclePosition(position: Position(latitude: 47, longitude: -122))
        let update = TripUpdate(
            trip: TripDescriptor(tripID: "T1"),
            stopTimeUpdates: [StopTimeUpdate(stopSequence: 1)]
        )
        var two = update
        two.stopTimeUpdates.append(StopTimeUpdate(stopSequence: 2))
        let feed = FeedMessage(
            header: FeedHeader(timestamp: Samples.now),
            entities: [
                FeedEntity(id: "1", tripUpdate: update),
                FeedEntity(id: "2", isDeleted: true, vehicle: vehicle),
                FeedEntity(id: "3", tripUpdate: two, vehicle: vehicle),
                FeedEntity(id: "4"),
            ]
        )
        let answer = Result { () throws(FeedDecodingError) in
            try FeedMessage(decoding: feed.encoded(), within: limits)
        }
        #expect(answer == (refusal.map { .failure($0) } ?? .success(feed)))
    }

    @Test func `entities are counted behind fields of every kind that nobody knows`() {
        // Numbers 100 to 103: a varint, eight bytes, a text, four bytes.
        let unknown: [UInt8] =
            [0xA0, 0x06, 0xFF, 0xFF, 0x01] + [0xA9, 0x06] + [UInt8](repeating: 0x12, count: 8)
            + [0xB2, 0x06, 0x02, 0x12, 0x00] + [0xBD, 0x06, 0x12, 0, 0x12, 0]
        // entity { unknown id "a" vehicle { } }, its length and its tag longer than need be.
        let content = unknown + [0x0A, 0x01, 0x61, 0x22, 0x00]
        let entity = [0x92, 0x80, 0x00, UInt8(content.count) | 0x80, 0x00] + content
        let bytes = header + unknown + entity + entity
        #expect((try? decode(bytes).get())?.entities.count == 2)
        for (limits, fits) in [
            (FeedLimits(entities: 2, vehicles: 2), true), (FeedLimits(entities: 1), false),
            (FeedLimits(vehicles: 1), false),
        ] {
            let feed = try? FeedMessage(decoding: bytes, within: limits)
            #expect((feed != nil) == fits)
        }
    }

    @Test func `what is no feed is refused as such under limits, too`() {
        let limits = FeedLimits(entities: 1, vehicles: 1)
        let bytes = Samples.everything.encoded()
        for length in bytes.indices {
            _ = try? FeedMessage(decoding: Array(bytes.prefix(length)), within: limits)
        }
        let long: [UInt8] = [0x12] + [UInt8](repeating: 0xFF, count: 9) + [0x01]
        for cut in [[0x12], [0x12, 0x80], [0x12, 0x05, 0x0A], [0x0B], long] as [[UInt8]] {
            #expect(throws: FeedDecodingError.malformed) {
                try FeedMessage(decoding: header + cut, within: limits)
            }
        }
    }

    @Test func `a feed over the limit is refused unread`() {
        let bytes = [UInt8](repeating: 0, count: FeedMessage.maximumBytes + 1)
        #expect(decode(bytes) == .failure(.tooLong(bytes: bytes.count)))
    }
}
