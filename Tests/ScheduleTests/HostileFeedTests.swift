import Testing
import Transit

@testable import Schedule

/// A change to the fixture feed and the sentence with which it must be refused.
struct BrokenFeed: Sendable, CustomTestStringConvertible {
    let changes: [String: String?]
    let sentence: String

    init(_ file: String, _ text: String?, _ sentence: String) {
        changes = [file: text]
        self.sentence = "x.zip: \(file)" + sentence
    }

    /// Replaces the first `old` in a file of the fixture.
    init(_ file: String, replacing old: String, with new: String, _ sentence: String) {
        var parts = FixtureFeed.text(file).components(at: old)
        parts.insert(new, at: 1)
        self.init(file, parts.joined(), sentence)
    }

    var testDescription: String { sentence }

    static let all = [
        BrokenFeed("agency.txt", nil, ": the file is missing or empty"),
        BrokenFeed("stops.txt", nil, ": the file is missing or empty"),
        BrokenFeed("routes.txt", nil, ": the file is missing or empty"),
        BrokenFeed("trips.txt", nil, ": the file is missing or empty"),
        BrokenFeed("stop_times.txt", nil, ": the file is missing or empty"),
        BrokenFeed("agency.txt", "", ": the file is missing or empty"),
        BrokenFeed("agency.txt", "agency_name\nX\n", " line 1: column agency_timezone is missing"),
        BrokenFeed("agency.txt", "agency_timezone\n", " line 2: it names no agency"),
        BrokenFeed(
            "agency.txt",
            "agency_timezone\n../../etc/passwd\n",
            " line 2: time zone \"../../etc/passwd\" does not exist"
        ),
        BrokenFeed("routes.txt", replacing: "R1", with: "R\0", " line 2: a NUL byte is in it"),
        BrokenFeed("trips.txt", "\0", " line 1: a NUL byte is in it"),
        BrokenFeed(
            "stops.txt",
            replacing: "47.6045,",
            with: "91,",
            " line 3: stop_lat \"91\" is not between -90 and 90 degrees"
        ),
        BrokenFeed(
            "stops.txt",
            replacing: "47.6045,",
            with: "nan,",
            " line 3: stop_lat \"nan\" is not a number"
        ),
        BrokenFeed(
            "stops.txt",
            replacing: "South",
            with: "\"South",
            " line 2: a quoted field does not end"
        ),
        BrokenFeed(
            "stops.txt",
            replacing: "South",
            with: "\"South\"x",
            " line 2: text follows a quoted field"
        ),
        BrokenFeed(
            "shapes.txt",
            replacing: "S1,47.6045,-122.33,2,500",
            with: "S1,47.6045,,2,500",
            " line 3: the point has no coordinates"
        ),
        BrokenFeed(
            "shapes.txt",
            replacing: "-122.33,2,500",
            with: "-122.33,99999999999999999999,500",
            " line 3: shape_pt_sequence \"99999999999999999999\""
                + " is not a whole number of reasonable size"
        ),
        BrokenFeed(
            "stop_times.txt",
            replacing: "08:05:00",
            with: "08:60:00",
            " line 3: arrival_time \"08:60:00\" is not a time HH:MM:SS"
        ),
        BrokenFeed(
            "stop_times.txt",
            replacing: "08:05:00",
            with: "99999:05:00",
            " line 3: arrival_time \"99999:05:00\" is not a time HH:MM:SS"
        ),
        BrokenFeed(
            "stop_times.txt",
            replacing: "ST2,2,500",
            with: "ST2,,500",
            " line 3: stop_sequence is missing"
        ),
        BrokenFeed(
            "stop_times.txt",
            replacing: "ST2,2,500",
            with: "ST2,2,1e999",
            " line 3: shape_dist_traveled \"1e999\" is not a number"
        ),
        BrokenFeed(
            "calendar.txt",
            replacing: "20261231",
            with: "20261331",
            " line 2: end_date \"20261331\" is not a date YYYYMMDD"
        ),
        BrokenFeed(
            "calendar_dates.txt",
            replacing: "20260907,2",
            with: "20260907,3",
            " line 2: exception_type \"3\" is not 1 or 2"
        ),
    ]
}

extension String {
    /// The text before and after the first occurrence of `mark`.
    fileprivate func components(at mark: String) -> [String] {
        guard let range = firstRange(of: mark) else { return [self, ""] }
        return [String(self[..<range.lowerBound]), String(self[range.upperBound...])]
    }
}

@Suite struct HostileFeedTests {
    private func load(_ changes: [String: String?]) throws -> ScheduleIndex {
        try ScheduleLoader.load(zip: try FixtureFeed.zip(changes), name: "x.zip")
    }

    @Test(arguments: BrokenFeed.all)
    func `refuses a broken feed by file, line and reason`(feed: BrokenFeed) throws {
        let error = #expect(throws: ScheduleError.self) { try load(feed.changes) }
        #expect(error?.description == feed.sentence)
    }

    @Test func `never traps on a zip cut short or damaged`() throws {
        let zip = try FixtureFeed.zip()
        for length in stride(from: 0, to: zip.count, by: 7) {
            #expect(throws: ScheduleError.self) {
                try ScheduleLoader.load(zip: Array(zip.prefix(length)), name: "x.zip")
            }
        }
        var random = SplitMix(state: 11)
        for _ in 0..<500 {
            var damaged = zip
            for _ in 0..<4 {
                damaged[Int.random(in: 0..<zip.count, using: &random)] =
                    UInt8.random(in: 0...255, using: &random)
            }
            _ = try? ScheduleLoader.load(zip: damaged, name: "x.zip")
        }
    }

    @Test func `never traps on damaged tables`() throws {
        var random = SplitMix(state: 5)
        let alphabet = Array("\",\n\r 0123456789.-:eE\u{0}\u{FF}ST".utf8)
        for round in 0..<480 {
            let file = FixtureFeed.files[round % FixtureFeed.files.count]
            var bytes = Array(file.text.utf8)
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            let zip = try ZipArchive.write(
                FixtureFeed.files.map {
                    ($0.name, $0.name == file.name ? bytes : Array($0.text.utf8))
                }
            )
            _ = try? ScheduleLoader.load(zip: zip, name: "x.zip")
        }
    }

    @Test func `refuses a file that unpacks past the limit before unpacking it`() throws {
        let zeros = String(repeating: "0", count: 1 << 20)
        let zip = try FixtureFeed.zip(["stop_times.txt": zeros])
        let error = #expect(throws: ScheduleError.self) {
            try ScheduleLoader.load(zip: zip, name: "x.zip", unpackedLimit: 100_000)
        }
        #expect(error?.file == "stop_times.txt")
        #expect(error?.reason.hasPrefix("it unpacks to 1048576 bytes, and ") == true)
    }

    @Test(arguments: [-1, 1]) func `refuses a size that lies`(difference: Int) throws {
        var zip = try FixtureFeed.zip()
        let size = FixtureFeed.text("agency.txt").utf8.count
        // The first entry's size stands in its local header and in the central directory.
        let directory = try #require(
            zip.indices.dropLast(4).first { Array(zip[$0..<($0 + 4)]) == [0x50, 0x4B, 1, 2] }
        )
        for place in [22, directory + 24] {
            #expect(Int(zip[place]) | Int(zip[place + 1]) << 8 == size)
            zip[place] = UInt8(truncatingIfNeeded: size + difference)
        }
        let error = #expect(throws: ScheduleError.self) {
            try ScheduleLoader.load(zip: zip, name: "x.zip")
        }
        #expect(error?.file == "agency.txt")
    }

    @Test(arguments: ["\u{FEFF}", ""], ["\r\n", "\n"])
    func `reads marks, line ends, quotes and any order of columns`(
        mark: String,
        end: String
    ) throws {
        let stops = [
            "stop_lon,extra, stop_name ,stop_id,stop_lat",
            "-122.33,,\"The \"\"Big\"\" one, at\(end)the corner\",ST1,47.6", "",
            "-122.33,x,Middle,\"ST2\", 47.6045 ", "-122.33,x,North,ST3,+47.609",
        ]
        let times = [
            "trip_id,arrival_time,departure_time,stop_id,stop_sequence",
            "T1,8:10:00,8:10:00,ST3,30", "T1,,,ST2,20", "T1, 7:59:00,8:00:00,ST1,10",
            "T9,8:00:00,8:00:00,ST1,1", "T2,23:00:00,,ST1,1", "T2,,25:00:00,NOWHERE,2",
        ]
        let index = try load([
            "stops.txt": mark + stops.joined(separator: end),
            "stop_times.txt": mark + times.joined(separator: end) + end,
            "empty.txt": "", "nonsense.txt": "\"",
        ])
        #expect(index.stop("ST1")?.name == "The \"Big\" one, at\(end)the corner")
        #expect(index.counts.stops == 3)
        #expect(index.counts.stopTimes == 6)
        let trip = try #require(index.trip("T1"))
        #expect(trip.stopTimes.map(\.stopID) == ["ST1", "ST2", "ST3"])
        #expect(trip.stopTimes.map(\.arrival) == [28_740, 29_100, 29_400])
        #expect(trip.stopTimes[0].departure == 28_800)
        let late = try #require(index.trip("T2"))
        #expect(late.stopTimes.map(\.departure) == [82_800, 90_000])
        #expect(late.stopTimes[1].alongShape == 0)
    }

    @Test func `lets the last of two trips with one id win`() throws {
        let trips = FixtureFeed.text("trips.txt") + "R2,SAT,T1,Again,1,S1\n"
        let index = try load(["trips.txt": trips])
        #expect(index.trip("T1")?.headsign == "Again")
        #expect(index.counts.trips == 5)
        #expect(index.counts.riderTrips == 3)
    }

    @Test func `reads numbers as a full conversion does`() throws {
        let texts = [
            "0", "-0.5", "47.6", "-122.32999999999998", "1e2", "12345678901234567890", "0.1",
            "179.999999999999999", "+.5", "5.", "0.000000000000000001",
        ]
        var table = try Table(
            Array(("n\n" + texts.joined(separator: "\n")).utf8),
            file: "n.txt",
            source: "x"
        )
        for text in texts {
            #expect(try table.next())
            #expect(try table.decimal("n", 0) == Double(text))
        }
    }

    @Test(arguments: [".", "-", "1.2.3", "0x10", "1,2", "inf", "--1", "1e", "१"])
    func `refuses what is no number`(text: String) throws {
        var table = try Table(Array("n\n\"\(text)\"".utf8), file: "n.txt", source: "x")
        #expect(try table.next())
        #expect(throws: ScheduleError.self) { try table.decimal("n", 0) }
    }
}

struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
