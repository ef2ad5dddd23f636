import RealtimeFeed
import Testing
import Transit

@Suite struct FeedCodingTests {
    @Test func `a feed reads back as it was written`() throws {
        #expect(try FeedMessage(decoding: Samples.everything.encoded()) == Samples.everything)
    }

    @Test func `a feed without entities is a feed`() throws {
        let feed = Samples.feed([])
        #expect(
            feed.encoded() == [0x0A, 0x0D, 0x0A, 0x03] + Array("2.0".utf8) + [0x10, 0x00, 0x18]
                + [0x80, 0xFE, 0xCC, 0xCC, 0x06]
        )
        #expect(try FeedMessage(decoding: feed.encoded()) == feed)
        #expect(
            String(decoding: feed.json(), as: UTF8.self)
                == #"{"header":{"gtfsRealtimeVersion":"2.0","incrementality":"FULL_DATASET","#
                + #""timestamp":"1771257600"}}"#
        )
    }

    @Test(arguments: [1, 63, 64, 127, 128, 300, 16_383, 16_384, 200_000])
    func `texts of every length class read back`(length: Int) throws {
        let feed = Samples.feed([FeedEntity(id: String(repeating: "x", count: length))])
        #expect(try FeedMessage(decoding: feed.encoded()) == feed)
    }

    @Test(
        arguments: [0, 1, 127, 128, 1 << 14, 1 << 32, 1 << 56, UInt64(1) << 63, .max] as [UInt64]
    )
    func `numbers of every length class read back`(number: UInt64) throws {
        let feed = Samples.feed([], timestamp: number)
        #expect(try FeedMessage(decoding: feed.encoded()) == feed)
    }

    @Test func `NULs leave texts in both forms`() throws {
        let feed = Samples.feed([FeedEntity(id: "a\0b\0")])
        #expect(try FeedMessage(decoding: feed.encoded()).entities[0].id == "ab")
        #expect(String(decoding: feed.json(), as: UTF8.self).contains(#"{"id":"ab"}"#))
    }

    @Test func `invalid UTF-8 and NULs of others are repaired`() throws {
        let header: [UInt8] = [0x0A, 0x05, 0x0A, 0x03] + Array("2.0".utf8)
        let bytes = header + [0x12, 0x06, 0x0A, 0x04, 0x61, 0xFF, 0x00, 0x62]
        #expect(try FeedMessage(decoding: bytes).entities[0].id == "a\u{FFFD}b")
    }

    @Test func `numbers that are none print as the mapping says`() {
        let feed = Samples.feed([
            Samples.vehicle(latitude: .nan, longitude: .infinity, bearing: -.infinity)
        ])
        let json = String(decoding: feed.json(), as: UTF8.self)
        #expect(
            json.contains(
                #""position":{"latitude":"NaN","longitude":"Infinity","bearing":"-Infinity","#
            )
        )
        #expect(
            String(decoding: feed.geoJSON(), as: UTF8.self).contains(#""geometry":null"#)
        )
    }

    @Test func `GeoJSON has a feature for each entity, longitude first`() {
        let feed = Samples.feed([
            Samples.vehicle(bearing: nil, speed: nil, trip: nil), FeedEntity(id: "x"),
        ])
        let json = String(decoding: feed.geoJSON(), as: UTF8.self)
        let entity =
            #"{"id":"bus-1","vehicle":{"position":{"latitude":47.6,"longitude":-122.33},"#
            + #""timestamp":"1771257595","vehicle":{"id":"bus-1"}}}"#
        #expect(
            json.hasSuffix(
                #""features":[{"type":"Feature","id":"bus-1","geometry":{"type":"Point","#
                    + #""coordinates":[-122.33,47.6]},"properties":\#(entity)},"#
                    + #"{"type":"Feature","id":"x","geometry":null,"properties":{"id":"x"}}]}"#
            )
        )
        #expect(json.hasPrefix(#"{"type":"FeatureCollection","header":{"#))
    }
}
