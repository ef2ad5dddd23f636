internal import LoadKit
internal import RealtimeFeed
internal import Telemetry
internal import Transit

/// An agency that reports many vehicles.
enum BenchAgency {
    /// Its feed of this moment, near the line that the load's schedule has.
    ///
    /// - Parameters:
    ///   - count: Vehicles.
    ///   - step: Moves every vehicle, so that two feeds differ in each.
    /// - Returns: The feed.
    static func feed(of count: Int, step: Int = 0) -> FeedMessage {
        let now = UInt64(Timestamps.nowMilliseconds() / 1000)
        let entities = (0..<count).map { index in
            FeedEntity(
                id: "vehicle-\(index)",
                vehicle: VehiclePosition(
                    vehicle: VehicleDescriptor(id: VehicleID("vehicle-\(index)"), label: "Bus"),
                    position: Position(
                        latitude: Float(47 + Double(index % 1000 + step % 100) * 1e-5),
                        longitude: -122,
                        bearing: Float(index % 360),
                        speed: 8.5
                    ),
                    timestamp: now
                )
            )
        }
        return FeedMessage(header: FeedHeader(timestamp: now), entities: entities)
    }

    /// Our feed, once it has all of the agency's vehicles.
    ///
    /// - Throws: ``LoadFailure`` when it has not within 20 s.
    static func whole(
        _ fleet: LoadFleet,
        _ port: Int,
        _ path: String,
        of count: Int
    ) async throws -> [UInt8] {
        let deadline = LoadRunner.now + 20
        while LoadRunner.now < deadline {
            let answer = try await fleet.get(port, path)
            if answer.0 == 200, try FeedMessage(decoding: answer.1).entities.count == count {
                return answer.1
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw LoadFailure("the feed never has \(count) vehicles")
    }
}
