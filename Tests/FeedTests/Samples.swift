import Messages
import RealtimeFeed
import Schedule
import Telemetry
import TestKit
import Transit
import Web

@testable import FeedService

extension ServiceDate {
    /// 20260216.
    static let monday = ServiceDate(daysSince1970: 20_500)
    /// 20260217.
    static let tuesday = ServiceDate(daysSince1970: 20_501)
}

extension TripEstimate {
    /// An estimate of a trip on a date, next at stop S3.
    static func sample(
        _ trip: TripID = "T1",
        on date: ServiceDate = .monday,
        latitude: Double = 47.5,
        at timestamp: UnixSeconds = now
    ) -> TripEstimate {
        TripEstimate(
            trip: TripInstance(tripID: trip, startDate: date),
            routeID: "R1",
            latitude: latitude,
            longitude: -122.25,
            bearing: 90,
            speed: 8.5,
            timestamp: timestamp,
            stopID: "S3",
            stopSequence: 3,
            riders: 2,
            alongShape: 1200
        )
    }

    /// The instant at which the tests begin: a Monday, 08:00 in Los Angeles.
    static let now: UnixSeconds = 1_771_257_600
}

extension Estimates {
    /// The state of one slot.
    static func sample(
        slot: UInt8 = 1,
        epoch: UInt64 = 1,
        sequence: UInt64 = 1,
        _ estimates: [TripEstimate]
    ) -> Estimates {
        Estimates(
            instance: "v",
            slot: Slot(slot),
            epoch: epoch,
            sequence: sequence,
            createdAt: TripEstimate.now,
            estimates: estimates
        )
    }
}

extension FeedEntity {
    /// An agency's vehicle on a trip.
    static func agency(
        _ vehicle: String = "100",
        trip: TripID? = "T1",
        on date: String? = "20260216",
        latitude: Float = 47.6,
        at timestamp: UInt64? = UInt64(TripEstimate.now)
    ) -> FeedEntity {
        FeedEntity(
            id: "e-\(vehicle)",
            vehicle: VehiclePosition(
                trip: trip.map { TripDescriptor(tripID: $0, startDate: date) },
                vehicle: VehicleDescriptor(id: VehicleID(vehicle)),
                position: Position(latitude: latitude, longitude: -122.33),
                timestamp: timestamp
            )
        )
    }
}

extension FeedMessage {
    /// A feed of these entities, dated at the beginning of the tests.
    static func sample(
        _ entities: [FeedEntity],
        header: UInt64 = UInt64(TripEstimate.now)
    ) -> FeedMessage {
        FeedMessage(header: FeedHeader(timestamp: header), entities: entities)
    }
}

extension AgencyFeed {
    /// A feed that was read once, with these entities.
    static func read(
        _ entities: [FeedEntity],
        at now: UnixSeconds = TripEstimate.now,
        url: String = "http://a"
    ) -> AgencyFeed {
        var feed = AgencyFeed(url: url)
        // In whatever turn it is looked at, it was asked.
        _ = feed.take(
            .response(
                status: 200,
                etag: nil,
                lastModified: nil,
                .feed(AgencyReading(.sample(entities, header: UInt64(now))))
            ),
            at: now,
            turn: .max
        )
        return feed
    }
}

/// The reference's synthetic schedule: T1 on R1 at 08:00 on weekdays, T3 a loop, T4 without a shape.
enum Fixture {
    static let schedule: ScheduleIndex = {
        let path = ProjectPaths.root + "/Tests/Fixtures/fixture.zip"
        guard let index = try? ScheduleLoader.load(path: path) else {
            preconditionFailure("\(path) is a schedule")
        }
        return index
    }()
}

extension HTTPClientResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}
