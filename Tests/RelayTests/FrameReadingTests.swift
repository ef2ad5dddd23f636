import Messages
import TestKit
import Testing
import Transit

@testable import RelayService

/// What clients may send: keys, bounds and silences (spec 2.2, 5.58).
@Suite struct FrameReadingTests {
    static let group = "11111111-1111-4111-8111-111111111111"

    /// A message and what it is.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String

        init(_ description: String, _ text: String) {
            testDescription = description
            self.text = text
        }

        var reading: ClientFrame.Reading { ClientFrame.read(Array(text.utf8)) }
    }

    static let malformed: [Case] = [
        Case("nothing", ""), Case("white space", " \n"), Case("broken", "{\"type\":"),
        Case("truncated", "{\"type\":\"location\",\"lat\":1,\"lon\""), Case("array", "[1,2]"),
        Case("text", "\"join\""), Case("number", "7"), Case("null", "null"), Case("flag", "true"),
        Case("empty object", "{}"), Case("a type that is a number", "{\"type\":7}"),
        Case("a type that is null", "{\"type\":null}"),
        Case("a type that is an object", "{\"type\":{\"type\":\"join\"}}"),
        Case("a raw control character", "{\"type\":\"join\",\"x\":\"a\u{1}b\"}"),
        Case("an unterminated text", "{\"type\":\"join"),
        Case("trailing garbage", "{\"type\":\"location\",\"lat\":1,\"lon\":2} x"),
        Case("two objects", "{\"type\":\"location\",\"lat\":1,\"lon\":2}{}"),
        Case("a trailing comma", "{\"type\":\"location\",\"lat\":1,\"lon\":2,}"),
        Case("single quotes", "{'type':'join'}"), Case("a comment", "{\"type\":\"join\"/**/}"),
        Case("a bad escape in a member nobody reads", "{\"type\":\"x\",\"y\":\"\\q\"}"),
        Case("a number beyond doubles", "{\"type\":\"location\",\"lat\":1e999,\"lon\":2}"),
        Case("a number with a plus", "{\"type\":\"location\",\"lat\":+1,\"lon\":2}"),
        Case("NaN", "{\"type\":\"location\",\"lat\":NaN,\"lon\":2}"),
        Case("the type twice", "{\"type\":\"join\",\"type\":\"location\"}"),
        Case("a coordinate twice", "{\"type\":\"location\",\"lat\":1,\"lat\":2,\"lon\":2}"),
        Case(
            "200 levels",
            "{\"type\":\"location\",\"lat\":1,\"lon\":2,\"x\":" + String(repeating: "[", count: 200)
                + String(repeating: "]", count: 200) + "}"
        ),
        Case(
            "64 levels in the object",
            "{\"type\":\"location\",\"lat\":1,\"lon\":2,\"x\":" + String(repeating: "[", count: 64)
                + String(repeating: "]", count: 64) + "}"
        ),
    ]

    @Test(arguments: malformed) func `costs nothing and is dropped`(example: Case) {
        #expect(example.reading == .malformed)
    }

    static func location(_ members: String) -> String { "{\"type\":\"location\",\(members)}" }

    static let refused: [Case] = [
        Case("no coordinates", "{\"type\":\"location\"}"),
        Case("no longitude", location("\"lat\":1")),
        Case("texts", location("\"lat\":\"1\",\"lon\":\"2\"")),
        Case("objects", location("\"lat\":{},\"lon\":[]")),
        Case("null", location("\"lat\":null,\"lon\":2")),
        Case("too far north", location("\"lat\":90.0001,\"lon\":2")),
        Case("too far south", location("\"lat\":-90.0001,\"lon\":2")),
        Case("too far east", location("\"lat\":1,\"lon\":180.0001")),
        Case("too far west", location("\"lat\":1,\"lon\":-180.0001")),
        Case("keys in capitals", location("\"Lat\":1,\"LON\":2")),
        Case("a group that is no id", "{\"type\":\"join\",\"groupId\":\"x\"}"),
        Case("a group that is a number", "{\"type\":\"join\",\"groupId\":7}"),
        Case("no group", "{\"type\":\"join\"}"),
        Case("a vote without group", "{\"type\":\"spin_vote\",\"index\":1}"),
        Case("a vote without index", "{\"type\":\"spin_vote\",\"groupId\":\"\(group)\"}"),
        Case("index 3", vote("3")), Case("index 7", vote("7")), Case("index -1", vote("-1")),
        Case("index 1.0", vote("1.0")), Case("index 1.5", vote("1.5")),
        Case("index as text", vote("\"1\"")),
        Case("index beyond 64 bits", vote("99999999999999999999")),
        Case("candidates as object", offer("{}")),
        Case("no candidates", "{\"type\":\"spin_offer\",\"groupId\":\"\(group)\"}"),
        Case("none", offer("[]")), Case("four", offer("[\(place),\(place),\(place),\(place)]")),
        Case("one of them invalid", offer("[\(place),{\"lat\":999,\"lon\":1}]")),
        Case("one of them no object", offer("[\(place),7]")),
        Case("one of them a text", offer("[\"x\"]")),
        Case("one of them an array", offer("[[\(place)]]")),
        Case("one without longitude", offer("[{\"lat\":1}]")),
        Case(
            "a name of 81",
            offer("[{\"lat\":1,\"lon\":2,\"name\":\"\(String(repeating: "é", count: 81))\"}]")
        ),
        Case("a token that is a number", "{\"type\":\"auth\",\"token\":7}"),
        Case("no token", "{\"type\":\"auth\"}"),
    ]

    static let place = "{\"lat\":1,\"lon\":2}"

    static func vote(_ index: String) -> String {
        "{\"type\":\"spin_vote\",\"groupId\":\"\(group)\",\"index\":\(index)}"
    }

    static func offer(_ candidates: String) -> String {
        "{\"type\":\"spin_offer\",\"groupId\":\"\(group)\",\"candidates\":\(candidates)}"
    }

    @Test(arguments: refused) func `costs a token and is dropped`(example: Case) {
        #expect(example.reading == .refused(.invalid))
    }

    @Test(arguments: [
        "ptt_start", "ptt_audio", "ptt_end", "left", "positions", "JOIN", "", "leave",
    ])
    func `is of no known type`(type: String) {
        #expect(
            Case("", "{\"type\":\"\(type)\",\"groupId\":\"\(Self.group)\"}").reading
                == .refused(.unknownType)
        )
    }

    private func read(_ text: String) throws -> ClientFrame {
        guard case .frame(let frame) = Case("", text).reading else {
            throw Late("a frame of \(text)")
        }
        return frame
    }

    private func locate(_ members: String) throws -> ClientFrame.Location {
        guard case .location(let location) = try read(Self.location(members)) else {
            throw Late("a location")
        }
        return location
    }

    @Test func `the type may come last, and unknown members are passed over`() throws {
        let text =
            "{ \"x\" : {\"lat\":[1,{\"y\":\"\\u00e9\"}]}, \"groupId\":\"\(Self.group)\", \"type\":\"join\"}"
        #expect(try read(text) == .join(try #require(UniqueID(Self.group))))
        #expect(
            try read("{\"\\u0074ype\":\"join\",\"groupId\":\"\(Self.group.uppercased())\"}")
                == .join(try #require(UniqueID(Self.group)))
        )
    }

    @Test(arguments: [(-90.0, -180.0), (90.0, 180.0), (0.0, 0.0), (47.6062, -122.3321)])
    func `the bounds of coordinates are inclusive`(latitude: Double, longitude: Double) throws {
        let location = try locate("\"lat\":\(latitude),\"lon\":\(longitude)")
        #expect([location.latitude, location.longitude] == [latitude, longitude])
    }

    @Test(arguments: [
        ("accuracyM", 0.0, 100_000.0, -0.1, 100_000.1), ("headingDeg", 0, 360, -1, 360.1),
        ("speedKmh", 0, 1000, -1, 1000.1),
    ])
    func `what cannot be is unknown`(
        key: String,
        low: Double,
        high: Double,
        under: Double,
        over: Double
    ) throws {
        func value(_ text: String) throws -> Double? {
            let location = try locate("\"lat\":1,\"lon\":2,\"\(key)\":\(text)")
            return [
                location.accuracyMeters, location.headingDegrees, location.speedKilometersPerHour,
            ]
            .compactMap { $0 }.first
        }
        #expect(try value("\(low)") == low)
        #expect(try value("\(high)") == high)
        for text in ["\(under)", "\(over)", "\"7\"", "null", "{}"] {
            #expect(try value(text) == nil)
        }
    }

    @Test(
        arguments: [
            ("1771257600123", 1_771_257_600_123), ("1771257600123.9", 1_771_257_600_123),
            ("0", nil),
            ("-5", nil), ("\"7\"", nil), ("1e300", nil), ("1", 1),
        ] as [(String, Int64?)]
    )
    func `a moment that is none is left out`(text: String, expected: Int64?) throws {
        #expect(try locate("\"lat\":1,\"lon\":2,\"ts\":\(text)").timestampMilliseconds == expected)
    }

    @Test(arguments: 1...3) func `one to three destinations are offered`(count: Int) throws {
        let list = Array(repeating: Self.place, count: count).joined(separator: ",")
        guard case .offer(_, let candidates) = try read(Self.offer("[\(list)]")) else {
            Issue.record("no offer")
            return
        }
        #expect(candidates == Array(repeating: .init(latitude: 1, longitude: 2), count: count))
    }

    @Test func `details of a destination are kept where they make sense`() throws {
        let name = String(repeating: "é", count: 80)
        let text = Self.offer(
            "[{\"lat\":1,\"lon\":2,\"distanceM\":-3,\"durationS\":4.5,\"name\":\"\(name)\",\"x\":[]},"
                + "{\"lat\":1,\"lon\":2,\"distanceM\":\"3\",\"durationS\":null,\"name\":7}]"
        )
        guard case .offer(_, let candidates) = try read(text) else {
            Issue.record("no offer")
            return
        }
        #expect(
            candidates[0]
                == .init(
                    latitude: 1,
                    longitude: 2,
                    distanceMeters: -3,
                    durationSeconds: 4.5,
                    name: name
                )
        )
        #expect(candidates[1] == .init(latitude: 1, longitude: 2))
    }

    @Test(arguments: 0...2) func `three indices may be voted for`(index: Int) throws {
        #expect(try read(Self.vote("\(index)")) == .vote(try #require(UniqueID(Self.group)), index))
    }

    @Test func `a token is taken as it is`() throws {
        #expect(try read("{\"type\":\"auth\",\"token\":\"a.b.c\"}") == .auth("a.b.c"))
    }

    @Test func `a budget has forty at once and twenty a second`() {
        var budget = FrameBudget(at: 0)
        func taken(_ count: Int, at now: UInt64) -> Int {
            var taken = 0
            for _ in 0..<count where budget.take(at: now) { taken += 1 }
            return taken
        }
        #expect(taken(41, at: 0) == 40)
        #expect(taken(30, at: 1_000_000_000) == 20)
        #expect(taken(2, at: 1_050_000_000) == 1)
        #expect(taken(100, at: 100_000_000_000) == 40)
        #expect(taken(1, at: 50_000_000_000) == 0)
    }
}
