public import Foundation

/// Where a member of a circle was last; the server keeps this one and no other.
public struct MemberFix: Sendable, Equatable {
    /// Whose it is.
    public var riderID: AccountID
    /// Degrees north.
    public var latitude: Double
    /// Degrees east.
    public var longitude: Double
    /// Metres; nil when unknown.
    public var accuracyMeters: Double?
    /// When it was measured, by the member's clock.
    public var measuredAt: Date

    /// Makes a fix.
    public init(
        riderID: AccountID,
        latitude: Double,
        longitude: Double,
        accuracyMeters: Double?,
        measuredAt: Date
    ) {
        self.riderID = riderID
        self.latitude = latitude
        self.longitude = longitude
        self.accuracyMeters = accuracyMeters
        self.measuredAt = measuredAt
    }
}

extension MemberFix: Decodable {
    private enum CodingKeys: String, CodingKey {
        case riderID = "riderId"
        case latitude
        case longitude
        case accuracyMeters
        case timestampMs
    }

    /// Reads a fix of `GET /api/circles/{id}/positions`.
    ///
    /// - Parameter decoder: Holds an object.
    /// - Throws: `DecodingError` when a member is missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        riderID = try container.decode(AccountID.self, forKey: .riderID)
        latitude = try container.decode(Double.self, forKey: .latitude)
        longitude = try container.decode(Double.self, forKey: .longitude)
        accuracyMeters = try container.decodeIfPresent(Double.self, forKey: .accuracyMeters)
        measuredAt = Date(milliseconds: try container.decode(Int64.self, forKey: .timestampMs))
    }
}

/// A place that a member shared into a circle.
public struct CirclePlace: Sendable, Equatable {
    /// The place.
    public var id: PlaceID
    /// Who shared it; they alone can take it back.
    public var ownerID: AccountID
    /// Up to 200 characters.
    public var name: String
    /// Metres, above 0 and up to 50,000.
    public var radiusMeters: Double
    /// What the owner's app sent along, `lat` and `lon` among it.
    public var details: [String: JSONValue]

    /// Where it is; nil when the owner's app did not say.
    public var coordinate: Coordinate? {
        guard let latitude = details["lat"]?.number, let longitude = details["lon"]?.number else {
            return nil
        }
        let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        return coordinate.isOnEarth ? coordinate : nil
    }
}

extension CirclePlace: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id
        case ownerID = "ownerId"
        case name
        case radiusMeters
        case details = "place"
    }
}

/// A place as its owner shares it.
public struct NewPlace: Sendable, Equatable {
    /// The phone's own number, not 0; sharing the same number again replaces the place.
    public var number: Int64
    /// The name; blank becomes a general one.
    public var name: String
    /// Metres, above 0 and up to 50,000.
    public var radiusMeters: Double
    /// Where it is.
    public var coordinate: Coordinate
    /// What else the app wants to find again.
    public var details: [String: JSONValue]

    /// Makes a place.
    public init(
        number: Int64,
        name: String,
        radiusMeters: Double,
        coordinate: Coordinate,
        details: [String: JSONValue] = [:]
    ) {
        self.number = number
        self.name = name
        self.radiusMeters = radiusMeters
        self.coordinate = coordinate
        self.details = details
    }
}

/// What happened at a place.
public enum CrossingKind: String, Sendable, Codable, CaseIterable {
    case arrive
    case depart

    /// Reads a kind in any case.
    init?(_ text: String) {
        self.init(rawValue: text.lowercased())
    }
}

/// An arrival or departure in a circle.
public struct CircleEvent: Sendable, Equatable {
    /// The event.
    public var id: EventID
    /// Its number in the circle, which never goes back: the cursor of the feed.
    public var sequence: Int64
    /// The place.
    public var placeID: PlaceID
    /// Its name, empty when it is gone.
    public var placeName: String
    /// Who moved.
    public var riderID: AccountID
    /// What happened.
    public var kind: CrossingKind
    /// When, by the clock of the phone that told it.
    public var occurredAt: Date

    /// Makes an event.
    public init(
        id: EventID,
        sequence: Int64,
        placeID: PlaceID,
        placeName: String,
        riderID: AccountID,
        kind: CrossingKind,
        occurredAt: Date
    ) {
        self.id = id
        self.sequence = sequence
        self.placeID = placeID
        self.placeName = placeName
        self.riderID = riderID
        self.kind = kind
        self.occurredAt = occurredAt
    }
}

extension CircleEvent: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id
        case sequence = "seq"
        case placeID = "placeId"
        case placeName
        case riderID = "riderId"
        case kind
        case timestampMs
    }

    /// Reads an event of `GET /api/circles/{id}/events`.
    ///
    /// - Parameter decoder: Holds an object.
    /// - Throws: `DecodingError` when a member is missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(EventID.self, forKey: .id)
        sequence = try container.decode(Int64.self, forKey: .sequence)
        placeID = try container.decode(PlaceID.self, forKey: .placeID)
        placeName = try container.decode(String.self, forKey: .placeName)
        riderID = try container.decode(AccountID.self, forKey: .riderID)
        let name = try container.decode(String.self, forKey: .kind)
        guard let kind = CrossingKind(name) else {
            throw DecodingError.dataCorruptedError(
                forKey: .kind,
                in: container,
                debugDescription: "no known kind"
            )
        }
        self.kind = kind
        occurredAt = Date(milliseconds: try container.decode(Int64.self, forKey: .timestampMs))
    }
}
