internal import Database
internal import Transit
internal import Web

/// A stored report of a driver.
struct LocationPoint: Sendable {
    /// WGS-84 degrees.
    let latitude, longitude: Double
    /// Degrees clockwise from north; nil when it was not reported.
    let bearing: Double?
    /// Metres per second; nil when it was not reported.
    let speed: Double?
    /// Metres; nil when it was not reported.
    let accuracy: Double?
    /// As the driver's clock said, POSIX seconds.
    let timestamp: UnixSeconds
    let tripID: TripID
    let receivedAt: UnixSeconds

    /// The columns that ``init(_:)`` reads.
    static let columns =
        "latitude, longitude, bearing, speed, accuracy, timestamp, trip_id, received_at"

    /// Reads a row of ``columns``.
    init(_ row: Row) throws(DatabaseError) {
        latitude = try row.double(0)
        longitude = try row.double(1)
        bearing = try row.optionalDouble(2)
        speed = try row.optionalDouble(3)
        accuracy = try row.optionalDouble(4)
        timestamp = try row.timestamp(5)
        tripID = TripID(try row.text(6))
        receivedAt = try row.timestamp(7)
    }

    /// Writes the members about place and movement, absent ones as null.
    func writePlace(to json: inout JSONWriter) {
        json.member("latitude", latitude)
        json.member("longitude", longitude)
        json.member("bearing", bearing)
        json.member("speed", speed)
        json.member("accuracy", accuracy)
    }
}
