import FoundationEssentials
import Replay
import Schedule
import Testing
import Transit
import Verification

/// A recorded day of buses with the schedule that they ran.
struct Recording: Sendable {
    let name: String
    let index: ScheduleIndex
    /// Whole recordings, also before the first stop and after the last one, of at least ten fixes.
    let whole: [BusTrip]
    /// The parts of at least ten fixes in which a rider can be aboard.
    let aboard: [BusTrip]
    /// Whole recordings that leave fewer than ten.
    let tooShort: [BusTrip]

    /// The fewest fixes of a bus trip that counts.
    static let minimum = 10

    /// WMATA's routes D40 and C53 for five hours, from its own feed, most positions snapped to the line.
    static let snapped = Result {
        let index = try schedule("wmata-2026-D40-C53")
        let fixes = try TraceReader.read(
            try bytes("traces/wmata-2026-02-16-D40-C53.vehiclepositions.csv"),
            on: index
        )
        return Recording(name: "D40 and C53, 2026, snapped", index, fixes)
    }

    /// One bus of WMATA's S2, true GPS noise.
    static let s2 = Result {
        try Recording(
            name: "S2, 2016, GPS",
            schedule: "wmata-2016-S2",
            log: "wmata-2016-S2-2113",
            block: ["877611130"],
            on: "20160429"
        )
    }

    /// One bus of WMATA's 5A, an express with 15 km between stops, true GPS noise.
    static let express = Result {
        try Recording(
            name: "5A, 2016, GPS",
            schedule: "wmata-2016-5A",
            log: "wmata-2016-5A-8062",
            block: ["868590120", "868588920"],
            on: "20160505"
        )
    }

    static func all() throws -> [Recording] {
        [try snapped.get(), try s2.get(), try express.get()]
    }

    private init(name: String, _ index: ScheduleIndex, _ fixes: [RecordedFix]) {
        self.name = name
        self.index = index
        whole = BusTrip.all(in: fixes, minimum: Self.minimum)
        let parts = whole.compactMap { busTrip in
            index.trip(busTrip.trip.tripID).map { (busTrip, busTrip.aboard($0)) }
        }
        aboard = parts.map(\.1).filter { $0.fixes.count >= Self.minimum }
        tooShort = parts.filter { $0.1.fixes.count < Self.minimum }.map(\.0)
    }

    private init(
        name: String,
        schedule: String,
        log: String,
        block: [TripID],
        on date: String
    ) throws {
        let index = try Self.schedule(schedule)
        let startDate = try #require(ServiceDate(date))
        let fixes = RecordedFix.assign(
            try TraceReader.read(try Self.bytes("traces/\(log).avl.csv"), on: index),
            to: block.compactMap(index.trip),
            on: startDate,
            startOfService: index.startOfService(on: startDate)
        )
        self.init(name: name, index, fixes)
    }

    /// The trips that run on a date.
    func trips(on date: ServiceDate) -> [Trip] {
        index.tripIDs.compactMap(index.trip).filter { index.isActive($0, on: date) }
    }

    /// Replays a bus trip as a ride on the trip that it ran, or on another one.
    func replay(
        _ busTrip: BusTrip,
        as claimed: Trip? = nil,
        feed: RecordedFeed? = nil,
        thresholds: Thresholds = Thresholds()
    ) throws -> ReplayedRide {
        let date = busTrip.trip.startDate
        let trip = try #require(claimed ?? index.trip(busTrip.trip.tripID))
        let journey = Journey(
            trip: trip,
            startDate: date,
            startOfService: index.startOfService(on: date)
        )
        return ReplayedRide(busTrip.fixes, on: journey, feed: feed, thresholds: thresholds)
    }

    // MARK: - Files

    private static let folder: String = {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(root)/../shared/data"
    }()

    private static func bytes(_ name: String) throws -> Data {
        try #require(
            FileManager.default.contents(atPath: "\(folder)/\(name)"),
            "\(name) is missing"
        )
    }

    private static func schedule(_ name: String) throws -> ScheduleIndex {
        try ScheduleLoader.load(path: "\(folder)/feeds/\(name).gtfs.zip")
    }
}
