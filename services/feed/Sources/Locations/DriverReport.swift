internal import Transit
internal import Web

/// Where a driver says that a vehicle is, checked (spec 1.6).
struct DriverReport: Sendable, Equatable {
    /// Seconds that a driver's clock may be off; more is refused.
    static let clockTolerance: Int64 = 300
    /// Seconds that a driver's clock may be off without being counted as skewed: what a feed's
    /// reader still takes for now (E050).
    static let skewThreshold: Int64 = 60
    /// Seconds; older points are not taken even in a batch (spec 0).
    static let longestBatchAge: Int64 = 86_400

    let vehicleID: VehicleID
    /// Empty when it was not reported, as the route.
    let tripID: TripID
    let routeID: RouteID
    let startDate: ServiceDate?
    /// WGS-84 degrees.
    let latitude, longitude: Double
    /// Degrees clockwise from north; nil when it was not reported.
    let bearing: Double?
    /// Metres per second; nil when it was not reported.
    let speed: Double?
    /// Metres, as it came; nil when it was not reported.
    let accuracy: Double?
    /// As the driver's clock said, POSIX seconds.
    let timestamp: UnixSeconds

    /// How old a report may be.
    enum Age: Sendable {
        /// As old as clocks may differ: sent at once.
        case live
        /// Up to a day: kept by a phone that was offline.
        case kept
    }

    /// Reads and checks a report, in the order of spec 1.6.
    ///
    /// - Parameters:
    ///   - body: The report's object.
    ///   - now: The application clock.
    ///   - age: How old it may be.
    /// - Throws: 400 naming the first rule that is broken.
    init(_ body: JSONObject, now: UnixSeconds, age: Age) throws(HTTPError) {
        let vehicle = try body.string("vehicle_id") ?? ""
        let trip = try body.string("trip_id") ?? ""
        let route = try body.string("route_id") ?? ""
        let date = try body.string("start_date") ?? ""
        let latitude = try body.double("latitude")
        let longitude = try body.double("longitude")
        bearing = try body.double("bearing")
        speed = try body.double("speed")
        accuracy = try body.double("accuracy")
        timestamp = try body.int64("timestamp") ?? 0
        try body.finish()
        vehicleID = try VehicleID(checking: vehicle, named: "vehicle_id")
        tripID = try TripID(bounded: trip, named: "trip_id")
        routeID = try RouteID(bounded: route, named: "route_id")
        startDate = try Self.startDate(date)
        guard startDate == nil || !tripID.isEmpty || !routeID.isEmpty else {
            throw .badRequest("start_date requires trip_id or route_id", code: "start_date.alone")
        }
        guard let latitude, let longitude else {
            throw .badRequest("latitude and longitude are required", code: "coordinates.required")
        }
        self.latitude = latitude
        self.longitude = longitude
        try checkPlace()
        try checkTime(now, age)
        try checkMovement()
    }

    private static func startDate(_ text: String) throws(HTTPError) -> ServiceDate? {
        guard !text.isEmpty else { return nil }
        guard text.utf8.count == 8, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .badRequest("start_date must be YYYYMMDD", code: "start_date.invalid")
        }
        guard let date = ServiceDate(text) else {
            throw .badRequest(
                "start_date must be a valid YYYYMMDD date",
                code: "start_date.impossible"
            )
        }
        return date
    }

    private func checkPlace() throws(HTTPError) {
        guard latitude != 0 || longitude != 0 else {
            throw .badRequest(
                "latitude and longitude cannot both be zero (likely GPS error)",
                code: "coordinates.zero"
            )
        }
        guard (-90...90).contains(latitude) else {
            throw .badRequest("latitude must be between -90 and 90", code: "latitude.invalid")
        }
        guard (-180...180).contains(longitude) else {
            throw .badRequest("longitude must be between -180 and 180", code: "longitude.invalid")
        }
    }

    private func checkTime(_ now: UnixSeconds, _ age: Age) throws(HTTPError) {
        guard timestamp > 0 else {
            throw .badRequest("timestamp must be positive", code: "timestamp.required")
        }
        if age == .kept, timestamp < now - Self.longestBatchAge {
            throw .badRequest("timestamp must be at most 24 hours old", code: "timestamp.old")
        }
        let isEarly = age == .live && timestamp < now - Self.clockTolerance
        guard !isEarly, timestamp <= now + Self.clockTolerance else {
            throw .badRequest(
                "timestamp must be within 5 minutes of server time",
                code: "timestamp.skewed"
            )
        }
    }

    private func checkMovement() throws(HTTPError) {
        guard bearing.map({ (0...360).contains($0) }) ?? true else {
            throw .badRequest(
                "bearing must be between 0 and 360 (inclusive)",
                code: "bearing.invalid"
            )
        }
        guard speed.map({ $0 >= 0 }) ?? true else {
            throw .badRequest("speed must be non-negative", code: "speed.invalid")
        }
    }

    // MARK: - Times

    /// Whether the driver's clock was more than a minute off.
    ///
    /// - Parameters:
    ///   - receivedAt: The application clock at the receipt.
    ///   - age: A report that was kept says nothing about the past side.
    func isSkewed(receivedAt: UnixSeconds, age: Age) -> Bool {
        let ahead = timestamp - receivedAt
        return ahead > Self.skewThreshold || (age == .live && -ahead > Self.skewThreshold)
    }

    /// The time that is published: as reported, but never ahead of the receipt (E050).
    func reportedAt(receivedAt: UnixSeconds) -> UnixSeconds { min(timestamp, receivedAt) }
}
