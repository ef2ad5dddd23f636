public import Transit

/// A simulated phone: one ride, one request at a time, the same points again until they are acknowledged.
public struct LoadRider: Sendable {
    /// The pseudonymous rider.
    public let id: UniqueID
    /// The ride, once it has begun.
    public internal(set) var ride: UniqueID?
    /// The times of all points that were acknowledged, in order.
    public internal(set) var acknowledged: [UnixSeconds] = []

    let token: String
    let trip: TripID
    /// The time of the first point that was not sent yet.
    var next: UnixSeconds
    /// The batch under way or waiting to be sent again.
    var batch: ClosedRange<UnixSeconds>?
    /// When the batch was sent first, in seconds of the runner's clock.
    var firstSent = 0.0

    /// Makes a rider.
    ///
    /// - Parameters:
    ///   - id: The subject of the token.
    ///   - token: A valid rider's token.
    ///   - trip: The trip to ride on.
    ///   - firstPoint: When the first point is measured.
    public init(id: UniqueID, token: String, trip: TripID, firstPoint: UnixSeconds) {
        self.id = id
        self.token = token
        self.trip = trip
        next = firstPoint
    }

    /// The request that starts the ride.
    func start(on schedule: LoadSchedule) -> [UInt8] {
        request(
            "/api/v1/rider/rides",
            Array("{\"trip_id\":\"\(trip)\",\"start_date\":\"\(schedule.date)\"}".utf8)
        )
    }

    /// The request that reports the batch.
    func report(on schedule: LoadSchedule) -> [UInt8] {
        guard let ride, let batch else { preconditionFailure("there is no batch to report") }
        var body = Array("{\"positions\":[".utf8)
        for time in batch {
            if time > batch.lowerBound { body.append(0x2C) }
            let place = schedule.place(at: time)
            let whole = Int(place.latitude)
            let fraction = Int((place.latitude - Double(whole)) * 1e7) + 10_000_000
            body += "{\"latitude\":\(whole).".utf8
            body += String(fraction).utf8.dropFirst()
            body += ",\"longitude\":\(place.longitude),\"accuracy\":5,\"speed\":8".utf8
            body += ",\"bearing\":0,\"timestamp\":\(time)}".utf8
        }
        body += "]}".utf8
        return request("/api/v1/rider/rides/\(ride)/positions", body)
    }

    private func request(_ path: String, _ body: [UInt8]) -> [UInt8] {
        let head = """
            POST \(path) HTTP/1.1\r
            Host: localhost\r
            Authorization: Bearer \(token)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            \r

            """
        return Array(head.utf8) + body
    }
}
