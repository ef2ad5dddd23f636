package import Messages
internal import Transit
package import Web

/// The limits of what a rider's body may hold (seed 4.4).
extension RiderLimits {
    /// Characters of an identifier.
    static let identifierLength = 100
    /// Bytes of a body.
    static let bodyBytes = 64 * 1024
}

/// `POST /api/v1/rider/rides`, checked as far as it can be without the schedule.
struct StartRideBody {
    let tripID: TripID
    let startDate: ServiceDate?
    let routeID: RouteID?
    let vehicleID: String
    let boardingStopID: String
    let destinationStopID: String

    /// Reads and checks a body, in the order of spec 2.2.
    init(_ body: JSONObject) throws(HTTPError) {
        let trip = try body.string("trip_id") ?? ""
        let date = try body.string("start_date") ?? ""
        let route = try body.string("route_id") ?? ""
        vehicleID = try body.string("vehicle_id") ?? ""
        boardingStopID = try body.string("boarding_stop_id") ?? ""
        destinationStopID = try body.string("destination_stop_id") ?? ""
        try body.finish()
        guard !trip.isEmpty, trip.unicodeScalars.count <= RiderLimits.identifierLength else {
            throw .badRequest("trip_id is required", code: "trip_id.required")
        }
        for text in [route, vehicleID, boardingStopID, destinationStopID]
        where text.unicodeScalars.count > RiderLimits.identifierLength {
            throw .badRequest(
                "identifiers must be at most \(RiderLimits.identifierLength) characters",
                code: "identifier.too_long"
            )
        }
        for text in [trip, route, vehicleID, boardingStopID, destinationStopID]
        where text.utf8.contains(0) {
            throw .badRequest("identifiers must not contain NUL", code: "identifier.invalid")
        }
        tripID = TripID(trip)
        routeID = route.isEmpty ? nil : RouteID(route)
        startDate = try ServiceDate(parameter: date)
    }
}

extension ServiceDate {
    /// Reads an optional `start_date`.
    ///
    /// - Returns: nil for an empty text.
    init?(parameter text: String) throws(HTTPError) {
        guard !text.isEmpty else { return nil }
        guard let date = ServiceDate(text) else {
            throw .badRequest("start_date must be YYYYMMDD", code: "start_date.invalid")
        }
        self = date
    }
}

extension ReportedPoint {
    /// Reads and checks the points of a report (spec 2.4).
    package static func points(of body: JSONObject) throws(HTTPError) -> [ReportedPoint] {
        let objects = try body.objects("positions") ?? []
        try body.finish()
        guard !objects.isEmpty else {
            throw .badRequest(
                "positions must contain at least one position",
                code: "positions.empty"
            )
        }
        guard objects.count <= RiderLimits.batchSize else {
            throw .badRequest("too many positions in one report", code: "positions.too_many")
        }
        var points: [ReportedPoint] = []
        points.reserveCapacity(objects.count)
        for object in objects { points.append(try ReportedPoint(object)) }
        return points
    }

    private init(_ object: JSONObject) throws(HTTPError) {
        let latitude = try object.double("latitude")
        let longitude = try object.double("longitude")
        let timestamp = try object.int64("timestamp") ?? 0
        let accuracy = try object.double("accuracy")
        let speed = try object.double("speed")
        let bearing = try object.double("bearing")
        try object.finish()
        guard timestamp > 0 else {
            throw .badRequest("each position needs a timestamp", code: "timestamp.required")
        }
        guard let latitude, let longitude, (-90...90).contains(latitude),
            (-180...180).contains(longitude)
        else {
            throw .badRequest(
                "latitude and longitude must be valid coordinates",
                code: "coordinates.invalid"
            )
        }
        self.init(
            latitude: latitude,
            longitude: longitude,
            accuracy: accuracy,
            speed: speed,
            bearing: bearing,
            timestamp: timestamp
        )
    }
}
