internal import Foundation

#if canImport(CoreLocation)
internal import CoreLocation
#endif

/// A running ride as a ``RideJournal`` keeps it; the token stays in the credential store.
struct KeptRide: Codable {
    struct Place: Codable {
        var latitude: Double
        var longitude: Double

        init?(_ coordinate: Coordinate?) {
            guard let coordinate else { return nil }
            latitude = coordinate.latitude
            longitude = coordinate.longitude
        }

        var coordinate: Coordinate { Coordinate(latitude: latitude, longitude: longitude) }
    }

    /// Between two savings while positions come.
    static let cadenceSeconds = 5.0
    /// No ride has more points; a number beyond it was not written by this kit.
    static let pointLimit = 1_000_000

    var serverURL: URL
    var riderID: String?
    var rideID: String
    var state: RideState
    var startedAt: Date
    var savedAt: Date
    var firstIntervalSeconds: Int
    var intervalSeconds: Int
    var batchSize: Int
    var acceptsGzip: Bool
    var destination: Place?
    var firstFix: Place?
    var pointsAccepted: Int
    var positions: [RiderPosition]

    init(_ ride: Ride, serverURL: URL, riderID: String?, now: Date) {
        self.serverURL = serverURL
        self.riderID = riderID
        rideID = ride.address.rideID
        state = ride.state
        startedAt = ride.conditions.startedAt
        savedAt = now
        firstIntervalSeconds = ride.uploads.firstIntervalSeconds
        intervalSeconds = ride.uploads.intervalSeconds
        batchSize = ride.uploads.batchSize
        acceptsGzip = ride.address.acceptsGzip
        destination = Place(ride.conditions.destination)
        firstFix = Place(ride.conditions.firstFix)
        pointsAccepted = ride.pointsAccepted
        positions = ride.uploads.unacknowledged
    }

    /// Whether the ride can still go on: its positions are worth sending, its server still waits.
    func isFresh(at now: Date) -> Bool {
        (0...Double(SampleBuffer.retentionSeconds)).contains(now.timeIntervalSince(savedAt))
    }
}
