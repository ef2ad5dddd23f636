import Testing
import Transit

@testable import Schedule

/// Where the recorded feeds lie, beside the checkout.
enum RecordedFeeds {
    static let folder: String = {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(root)/../shared/data/feeds"
    }()

    static func path(_ name: String) -> String { "\(folder)/\(name).zip" }
}

/// Routes, trips, stop times, shapes and points that the manifest counts in a recorded feed.
struct RecordedFeed: Sendable, CustomTestStringConvertible {
    let name: String
    let counts: [Int]

    init(_ name: String, _ counts: Int...) {
        self.name = name
        self.counts = counts
    }

    var testDescription: String { name }

    static let all = [
        RecordedFeed("raba.gtfs", 13, 282, 7346, 28, 10_597),
        RecordedFeed("bullrunner.gtfs", 6, 15, 473, 6, 1522),
        RecordedFeed("bullrunner-no-shapes.gtfs", 6, 15, 473, 0, 0),
        RecordedFeed("bullrunner-timepoints-exact1.gtfs", 6, 15, 473, 0, 0),
        RecordedFeed("testagency.gtfs", 18, 33, 80, 2, 9),
        RecordedFeed("testagency2.gtfs", 18, 33, 80, 2, 9),
        RecordedFeed("soundtransit-2023.gtfs", 5, 734, 13_314, 35, 10_981),
        RecordedFeed("wmata-2026-D40-C53.gtfs", 2, 3516, 191_354, 10, 10_880),
        RecordedFeed("wmata-2016-S2.gtfs", 1, 1267, 65_276, 11, 10_565),
        RecordedFeed("wmata-2016-5A.gtfs", 1, 372, 2046, 2, 7795),
        RecordedFeed("cairns-2014.gtfs", 22, 1339, 37_790, 54, 22_784),
        RecordedFeed("berlin-2020.gtfs", 6, 348, 8865, 20, 8328),
        RecordedFeed("fortaleza-2019.gtfs", 14, 2292, 44_646, 14, 1798),
        RecordedFeed("saopaulo-2019.gtfs", 72, 92, 3639, 92, 35_886),
        RecordedFeed("warsaw-2020.gtfs", 3, 56, 1649, 19, 3075),
        RecordedFeed("collins-ie-2016.gtfs", 1, 56, 617, 21, 10_666),
        RecordedFeed("nyct-subway-2018.gtfs", 22, 15_911, 446_924, 215, 19_078),
        RecordedFeed("wmata-rail-2026.gtfs", 7, 16_514, 352_668, 436, 173_485),
        RecordedFeed("kuopio-fi-2016.gtfs", 46, 2149, 79_123, 0, 0),
        RecordedFeed("hart-tampa-2016.gtfs", 47, 4476, 224_201, 124, 44_328),
        RecordedFeed("caltrain-2009.gtfs", 3, 260, 4712, 6, 2677),
        RecordedFeed("israel-route-2126.gtfs", 1, 4, 72, 1, 150),
        RecordedFeed("seattle-area-2017.gtfs", 14, 3888, 57_205, 59, 34_077),
        RecordedFeed("trimet-2routes-2021.gtfs", 2, 2341, 43_813, 44, 18_286),
        RecordedFeed("emery-go-round-2022.gtfs", 7, 351, 7971, 5, 1042),
        RecordedFeed("amtrak-2021.gtfs", 64, 3181, 39_729, 0, 0),
        RecordedFeed("island-transit-2009.gtfs", 23, 584, 14_649, 0, 0),
        RecordedFeed("google-sample-feed-1.gtfs", 5, 11, 28, 0, 0),
        RecordedFeed("sample-feed-bom.gtfs", 5, 11, 28, 0, 0),
        RecordedFeed("sample-feed-calendar_dates.gtfs", 5, 11, 28, 0, 0),
        RecordedFeed("sample-feed-plus.gtfs", 5, 11, 28, 0, 0),
        RecordedFeed("ctran-flex-2025.gtfs", 6, 1389, 2778, 0, 0),
    ]
}

@Suite struct RecordedFeedTests {
    @Test(.timeLimit(.minutes(5)), arguments: RecordedFeed.all)
    func `loads with the manifest's counts and sound trips`(feed: RecordedFeed) throws {
        let index = try ScheduleLoader.load(path: RecordedFeeds.path(feed.name))
        let counts = index.counts
        let counted = [
            counts.routes, counts.trips, counts.stopTimes, counts.shapes, counts.shapePoints,
        ]
        #expect(counted == feed.counts)
        #expect(counts.riderTrips == index.tripIDs.count)
        #expect((counts.riderTrips > 0) == (counts.shapes > 0))
        var faults: [String] = []
        for id in index.tripIDs {
            guard let trip = index.trip(id), index.route(trip.routeID) != nil else {
                faults.append("\(id): no trip or route")
                continue
            }
            for (from, to) in zip(trip.stopTimes, trip.stopTimes.dropFirst()) {
                if from.alongShape > to.alongShape { faults.append("\(id): goes back") }
                if from.stopSequence > to.stopSequence { faults.append("\(id): out of order") }
                if from.departure > to.arrival { faults.append("\(id): time runs back") }
            }
            let end = trip.stopTimes.last?.alongShape ?? -1
            if end < 0 || end > trip.shape.length { faults.append("\(id): ends at \(end)") }
        }
        #expect(faults.prefix(5).isEmpty, "\(faults.count) faults")
    }

    @Test func `refuses a zip without GTFS names in one sentence`() {
        let error = #expect(throws: ScheduleError.self) {
            try ScheduleLoader.load(path: RecordedFeeds.path("badgtfs"))
        }
        #expect(error?.description == "badgtfs.zip: agency.txt: the file is missing or empty")
    }

    @Test func `refuses a zone that does not exist in one sentence`() {
        let error = #expect(throws: ScheduleError.self) {
            try ScheduleLoader.load(path: RecordedFeeds.path("google-spec-PST.gtfs"))
        }
        #expect(
            error?.description
                == "google-spec-PST.gtfs.zip: agency.txt line 2: time zone \"PST\" does not exist"
        )
    }

    @Test func `marks the trips that frequencies name`() throws {
        let index = try ScheduleLoader.load(path: RecordedFeeds.path("bullrunner.gtfs"))
        #expect(index.tripIDs.count == 15)
        #expect(index.tripIDs.allSatisfy { index.trip($0)?.isFrequencyBased == true })
        let raba = try ScheduleLoader.load(path: RecordedFeeds.path("raba.gtfs"))
        #expect(raba.tripIDs.allSatisfy { raba.trip($0)?.isFrequencyBased == false })
    }
}
