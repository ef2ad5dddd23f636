import Messages
import RealtimeFeed
import Testing
import Transit

@testable import FeedService

/// The fields of a rider's entity, exactly as in spec 2.10.
@Suite struct RiderEntityTests {
    private let now = TripEstimate.now

    @Test func `has these fields and no others`() {
        let id = "rider:T1:20260216"
        let expected = FeedEntity(
            id: id,
            vehicle: VehiclePosition(
                trip: TripDescriptor(tripID: "T1", routeID: "R1", startDate: "20260216"),
                vehicle: VehicleDescriptor(id: VehicleID(id), label: "Rider-reported"),
                position: Position(latitude: 47.5, longitude: -122.25, bearing: 90, speed: 8.5),
                currentStopSequence: 3,
                stopID: "S3",
                currentStatus: .inTransitTo,
                timestamp: UInt64(now)
            )
        )
        #expect(FeedEntity(.sample(), now: now) == expected)
    }

    @Test func `past the last stop there is no stop, sequence or status`() {
        var estimate = TripEstimate.sample()
        estimate.stopID = nil
        estimate.stopSequence = nil
        let vehicle = FeedEntity(estimate, now: now).vehicle
        #expect(vehicle?.stopID == nil)
        #expect(vehicle?.currentStopSequence == nil)
        #expect(vehicle?.currentStatus == nil)
        let json = String(
            decoding: FeedMessage(
                header: FeedHeader(timestamp: UInt64(now)),
                entities: [FeedEntity(estimate, now: now)]
            ).json(),
            as: UTF8.self
        )
        for name in ["stopId", "currentStopSequence", "currentStatus"] {
            #expect(!json.contains(name))
        }
    }

    @Test func `a speed that nobody reported is absent, one of zero is not`() {
        var estimate = TripEstimate.sample()
        estimate.speed = nil
        #expect(FeedEntity(estimate, now: now).vehicle?.position?.speed == nil)
        estimate.speed = 0
        estimate.bearing = 0
        let position = FeedEntity(estimate, now: now).vehicle?.position
        #expect(position?.speed == 0)
        #expect(position?.bearing == 0)
    }

    @Test func `a route that is not known is absent, not empty`() {
        var estimate = TripEstimate.sample()
        estimate.routeID = ""
        #expect(FeedEntity(estimate, now: now).vehicle?.trip?.routeID == nil)
    }

    @Test(arguments: [(0, 0), (4_294_967_295, .max), (-1, nil), (4_294_967_296, nil)])
    func `a stop sequence that the feed cannot hold is absent`(sequence: Int, written: UInt32?) {
        var estimate = TripEstimate.sample()
        estimate.stopSequence = sequence
        let vehicle = FeedEntity(estimate, now: now).vehicle
        #expect(vehicle?.currentStopSequence == written)
        #expect(vehicle?.stopID == "S3")
        #expect(vehicle?.currentStatus == .inTransitTo)
    }

    @Test func `one trip on two service dates is two vehicles`() {
        let first = FeedEntity(.sample(on: .monday), now: now)
        let second = FeedEntity(.sample(on: .tuesday), now: now)
        #expect(first.id != second.id)
        #expect(first.vehicle?.vehicle?.id != second.vehicle?.vehicle?.id)
    }

    @Test(arguments: [(.min, 0), (.max, TripEstimate.now)] as [(UnixSeconds, UnixSeconds)])
    func `no time is too far off to be written`(time: UnixSeconds, written: UnixSeconds) {
        let entity = FeedEntity(.sample(at: time), now: now)
        #expect(entity.vehicle?.timestamp == UInt64(written))
    }
}
