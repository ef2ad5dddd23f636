public import Foundation

/// The low-cadence path of circles: last fixes, places, arrivals and departures.
extension CompanionAPI {
    private struct Fix: Encodable {
        var latitude: Double
        var longitude: Double
        var accuracyMeters: Double?
        var timestampMs: Int64
    }
    private struct Place: Encodable { var place: [String: JSONValue] }
    private struct Event: Encodable {
        var placeId: PlaceID
        var kind: CrossingKind
        var timestampMs: Int64
        var clientEventId: EventID
    }
    private struct Fixes: Decodable { var fixes: TolerantList<MemberFix> }
    private struct Places: Decodable { var places: TolerantList<CirclePlace> }
    private struct Events: Decodable { var events: TolerantList<CircleEvent> }
    private struct NewID: Decodable { var id: PlaceID }

    // MARK: - Fixes

    /// Tells where the caller is, once for all groups: stored in each circle in which they share,
    /// shown at once on open maps.
    ///
    /// - Parameter reading: Where, and when that was measured.
    /// - Throws: ``CompanionError``.
    public func postFix(_ reading: LocationReading) async throws {
        try await post("/api/me/fix", Self.body(reading))
    }

    /// Stores where the caller is in one circle, without showing it live.
    ///
    /// - Parameters:
    ///   - reading: Where, and when that was measured.
    ///   - circle: A circle in which the caller shares; a paused one discards it.
    /// - Throws: ``CompanionError``.
    public func postFix(_ reading: LocationReading, in circle: GroupID) async throws {
        try await post("/api/circles/\(circle)/positions", Self.body(reading))
    }

    /// Where those who share in a circle were last, the caller included.
    ///
    /// - Throws: ``CompanionError``.
    public func fixes(in circle: GroupID) async throws -> [MemberFix] {
        let answer: Fixes = try await get("/api/circles/\(circle)/positions")
        return answer.fixes.elements
    }

    private static func body(_ reading: LocationReading) -> Fix {
        Fix(
            latitude: reading.coordinate.latitude,
            longitude: reading.coordinate.longitude,
            accuracyMeters: reading.accuracyMeters.flatMap { $0.isFinite ? $0 : nil },
            timestampMs: reading.measuredAt.milliseconds
        )
    }

    // MARK: - Places

    /// Shares a place into a circle, in place of the one with the same number.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - circle: A circle in which the caller is.
    /// - Returns: The place's id for everyone.
    /// - Throws: ``CompanionError``.
    public func share(_ place: NewPlace, in circle: GroupID) async throws -> PlaceID {
        var details = place.details
        details["id"] = .integer(place.number)
        details["name"] = .text(place.name)
        details["radiusMeters"] = .number(place.radiusMeters)
        details["lat"] = .number(place.coordinate.latitude)
        details["lon"] = .number(place.coordinate.longitude)
        let answer: NewID = try await send(
            "POST",
            "/api/circles/\(circle)/places",
            Place(place: details)
        )
        return answer.id
    }

    /// The places of a circle, newest first.
    ///
    /// - Throws: ``CompanionError``.
    public func places(in circle: GroupID) async throws -> [CirclePlace] {
        let answer: Places = try await get("/api/circles/\(circle)/places")
        return answer.places.elements
    }

    /// Takes a place of the caller's back.
    ///
    /// - Throws: ``CompanionError``.
    public func removePlace(_ place: PlaceID) async throws {
        try await delete("/api/circle-places/\(place)")
    }

    // MARK: - Events

    /// Tells a circle of an arrival or departure.
    ///
    /// - Parameters:
    ///   - kind: What happened.
    ///   - place: The place.
    ///   - circle: The circle.
    ///   - instant: When, by the phone's clock.
    ///   - id: The phone's own id: a repeat with it creates nothing and gets the first answer.
    /// - Returns: The event, nil when the caller has paused and the server discarded it.
    /// - Throws: ``CompanionError``.
    public func postEvent(
        _ kind: CrossingKind,
        at place: PlaceID,
        in circle: GroupID,
        occurredAt instant: Date,
        id: EventID
    ) async throws -> CircleEvent? {
        let response = try await send(kind, at: place, in: circle, occurredAt: instant, id: id)
        return response.status == 204 ? nil : try WireCoding.read(response)
    }

    /// Tells a circle of an arrival or departure, as ``postEvent(_:at:in:occurredAt:id:)`` does.
    ///
    /// - Returns: Whether the circle has been told. That the server took the event is in the status;
    ///   an answer that cannot be read changes nothing about it.
    /// - Throws: ``CompanionError``.
    func announce(
        _ kind: CrossingKind,
        at place: PlaceID,
        in circle: GroupID,
        occurredAt instant: Date,
        id: EventID
    ) async throws -> Bool {
        let response = try await send(kind, at: place, in: circle, occurredAt: instant, id: id)
        return response.status != 204
    }

    private func send(
        _ kind: CrossingKind,
        at place: PlaceID,
        in circle: GroupID,
        occurredAt instant: Date,
        id: EventID
    ) async throws -> CompanionResponse {
        let body = Event(
            placeId: place,
            kind: kind,
            timestampMs: instant.milliseconds,
            clientEventId: id
        )
        return try await call(
            "POST",
            "/api/circles/\(circle)/events",
            body: try WireCoding.body(body)
        )
    }

    /// Arrivals and departures in a circle, the caller's own included, in the server's order.
    ///
    /// - Parameters:
    ///   - circle: The circle.
    ///   - sequence: The last number that is known already; 0 for all that are kept.
    /// - Returns: At most the newest 500.
    /// - Throws: ``CompanionError``.
    public func events(in circle: GroupID, after sequence: Int64 = 0) async throws -> [CircleEvent]
    {
        let answer: Events = try await get(
            "/api/circles/\(circle)/events",
            query: ["after": String(sequence)]
        )
        return answer.events.elements
    }
}
