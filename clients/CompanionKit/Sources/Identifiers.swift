public import Foundation

/// An id that the server gave out; ids of different things do not mix.
///
/// On the wire it is a UUID in lower case; people and groups are compared by it and nothing else.
public protocol CompanionIdentifier: RawRepresentable, Hashable, Sendable, Codable,
    CustomStringConvertible
where RawValue == UUID {
    /// Makes an id from the server's.
    init(rawValue: UUID)
}

extension CompanionIdentifier {
    /// Reads an id in either case; nil for what is no UUID.
    public init?(_ text: String) {
        guard let id = UUID(uuidString: text) else { return nil }
        self.init(rawValue: id)
    }

    /// The id as the wire carries it.
    public var description: String { rawValue.uuidString.lowercased() }

    /// Reads an id.
    ///
    /// - Parameter decoder: Holds a text.
    /// - Throws: `DecodingError` for what is no UUID.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a UUID")
        }
        self = id
    }

    /// Writes the id as the wire carries it.
    ///
    /// - Parameter encoder: Takes a text.
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The id of a person's account.
public struct AccountID: CompanionIdentifier {
    /// The UUID.
    public let rawValue: UUID

    /// Makes an id from the server's.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// The id of a circle or convoy.
public struct GroupID: CompanionIdentifier {
    /// The UUID.
    public let rawValue: UUID

    /// Makes an id from the server's.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// The id of a place of a circle: the server's, since two members may number places alike.
public struct PlaceID: CompanionIdentifier {
    /// The UUID.
    public let rawValue: UUID

    /// Makes an id from the server's.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// The id of an arrival or departure.
public struct EventID: CompanionIdentifier {
    /// The UUID.
    public let rawValue: UUID

    /// Makes an id from the server's or the phone's.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}
