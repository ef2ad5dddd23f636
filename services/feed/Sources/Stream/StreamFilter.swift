internal import RealtimeFeed
internal import Transit
internal import Web

/// What a reader of the stream wants to hear of.
struct StreamFilter: Sendable, Hashable {
    /// Degrees, both ends included.
    struct Box: Sendable, Hashable {
        var longitudes: ClosedRange<Double>
        var latitudes: ClosedRange<Double>
    }

    /// Which entities; all by default.
    var source = FeedSource.all
    /// One route; nil for all.
    var routeID: RouteID?
    /// One trip; nil for all.
    var tripID: TripID?
    /// A box; nil for everywhere.
    var box: Box?

    init() {}

    /// Whether many readers have the same wish, so that what they are told is worth keeping: there are no
    /// more such filters than there are sources.
    var isCommon: Bool { routeID == nil && tripID == nil && box == nil }

    /// Reads the parameters `source`, `route_id`, `trip_id` and `bbox`; an empty one says nothing.
    ///
    /// - Throws: 400 for a value that is none.
    init(_ query: QueryItems, includesAgency: Bool) throws(HTTPError) {
        source = try FeedSource(asked: query.first("source"), includesAgency: includesAgency)
        routeID = Self.text(query, "route_id").map { RouteID($0) }
        tripID = Self.text(query, "trip_id").map { TripID($0) }
        box = try Self.text(query, "bbox").map { text throws(HTTPError) in try Box(text) }
    }

    private static func text(_ query: QueryItems, _ name: String) -> String? {
        query.first(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether an entity is wanted.
    func admits(_ entity: StreamEntity) -> Bool {
        if source != .all, entity.source.rawValue != source.rawValue { return false }
        if let routeID, entity.routeID != routeID { return false }
        if let tripID, entity.tripID != tripID { return false }
        guard let box else { return true }
        guard let place = entity.coordinate else { return false }
        return box.longitudes.contains(place.longitude) && box.latitudes.contains(place.latitude)
    }
}

extension StreamFilter.Box {
    /// Reads `minLon,minLat,maxLon,maxLat`.
    ///
    /// - Throws: 400 for anything but four numbers on the earth, each pair in order.
    fileprivate init(_ text: String) throws(HTTPError) {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false)
            .map { Double($0) }
        guard numbers.count == 4, let west = numbers[0], let south = numbers[1],
            let east = numbers[2], let north = numbers[3], west <= east, south <= north,
            abs(west) <= 180, abs(east) <= 180, abs(south) <= 90, abs(north) <= 90
        else {
            throw .badRequest("bbox must be minLon,minLat,maxLon,maxLat", code: "bbox.invalid")
        }
        self.init(longitudes: west...east, latitudes: south...north)
    }
}

/// An entity as the stream tells it.
struct StreamEntity: Sendable {
    let source: SourcedEntity.Source
    let id: String
    let routeID: RouteID?
    let tripID: TripID?
    let coordinate: Coordinate?
    /// What it was made from; equal ones need no telling.
    let entity: FeedEntity
    /// The entity as JSON.
    let json: [UInt8]

    init(_ entity: FeedEntity, source: SourcedEntity.Source) {
        self.entity = entity
        self.source = source
        id = entity.id
        routeID = entity.vehicle?.trip?.routeID
        tripID = entity.vehicle?.trip?.tripID
        coordinate = entity.vehicle?.position.map { position in
            Coordinate(
                latitude: Double(position.latitude),
                longitude: Double(position.longitude)
            )
        }
        json = entity.json()
    }
}
