import Messages
import Transit
import Web

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

    /// The instant at which the tests begin.
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

extension HTTPClientResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}
