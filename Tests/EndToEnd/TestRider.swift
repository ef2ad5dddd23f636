import Foundation
import Schedule
import Testing
import Transit
import Web

/// A rider on a trip that runs now, whose fixes lie where the timetable says.
struct TestRider: Sendable {
    let product: Product
    let token: String
    let riderID: String
    let installationID: String
    let rideID: String
    let trip: Trip
    let startOfService: UnixSeconds

    static var now: UnixSeconds { Int64(Date().timeIntervalSince1970) }

    /// Registers and starts a ride: on the trip of another rider, who may have begun in the minute
    /// before, or on any that runs.
    init(_ product: Product, beside other: TestRider? = nil) async throws {
        (trip, startOfService) =
            try other.map { ($0.trip, $0.startOfService) } ?? Self.runningTrip(product.schedule)
        self.product = product
        installationID = UUID().uuidString
        let registered = try await product.post(
            "/api/v1/rider/register",
            #"{"installation_id":"\#(installationID)","platform":"other","app_id":"e2e"}"#
        )
        try #require(
            registered.status == 201,
            "\(String(decoding: registered.body, as: UTF8.self))"
        )
        let rider = try Self.object(registered)
        token = try #require(rider["token"] as? String)
        riderID = try #require(rider["rider_id"] as? String)
        let started = try await product.post(
            "/api/v1/rider/rides",
            #"{"trip_id":"\#(trip.id.rawValue)"}"#,
            token: token
        )
        try #require(started.status == 201, "\(String(decoding: started.body, as: UTF8.self))")
        rideID = try #require(try Self.object(started)["ride_id"] as? String)
    }

    /// The first trip that has been under way for five minutes and will be for five more.
    static func runningTrip(_ schedule: String) throws -> (Trip, UnixSeconds) {
        let index = try ScheduleLoader.load(path: schedule)
        for id in index.tripIDs {
            guard let trip = index.trip(id) else { continue }
            let date = index.defaultStartDate(for: trip, at: now)
            let start = index.startOfService(on: date)
            let isUnderWay =
                start + Int64(trip.startTime) + 300 < now && now < start + Int64(trip.endTime) - 300
            if index.isActive(trip, on: date), isUnderWay, isSteady(trip, now - start) {
                return (trip, start)
            }
        }
        throw ProductFailure("no trip of \(schedule) is under way")
    }

    /// Whether the timetable asks for no impossible speed in the minutes around an offset.
    ///
    /// Times are whole minutes in many feeds, so two stops may have the same one.
    private static func isSteady(_ trip: Trip, _ offset: Int64) -> Bool {
        zip(trip.stopTimes, trip.stopTimes.dropFirst()).allSatisfy { from, to in
            let isNear = to.arrival > offset - 120 && from.departure < offset + 300
            let seconds = Double(to.arrival - from.departure)
            return !isNear || to.alongShape - from.alongShape <= 20 * seconds
        }
    }

    /// Sends fixes measured at these times.
    ///
    /// - Parameters:
    ///   - times: POSIX seconds.
    ///   - offset: Degrees north and east of the shape; 0.2 is off any route of the schedule.
    /// - Returns: The answer, whatever its status.
    /// - Throws: When there is no answer at all.
    func report(_ times: [UnixSeconds], offset: Double = 0) async throws -> HTTPClientResponse {
        let positions = times.map { time in
            let place = place(at: time)
            return """
                {"latitude":\(place.latitude + offset),"longitude":\(place.longitude + offset),\
                "accuracy":5,"speed":1.5,"timestamp":\(time)}
                """
        }
        return try await product.post(
            "/api/v1/rider/rides/\(rideID)/positions",
            #"{"positions":[\#(positions.joined(separator: ","))]}"#,
            token: token
        )
    }

    /// Where the timetable puts the vehicle.
    func place(at time: UnixSeconds) -> Coordinate { trip.shape.point(at: along(at: time)) }

    func end(_ reason: String) async throws -> HTTPClientResponse {
        try await product.post(
            "/api/v1/rider/rides/\(rideID)/end",
            #"{"reason":"\#(reason)"}"#,
            token: token
        )
    }

    /// Where the timetable puts the vehicle, in metres along the shape.
    private func along(at time: UnixSeconds) -> Double {
        let offset = Double(time - startOfService)
        var low = 0.0
        var high = trip.shape.length
        for _ in 0..<40 {
            let middle = (low + high) / 2
            if trip.scheduledOffset(at: middle) < offset { low = middle } else { high = middle }
        }
        return low
    }

    static func object(_ response: HTTPClientResponse) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(response.body))
        return try #require(value as? [String: Any])
    }
}
