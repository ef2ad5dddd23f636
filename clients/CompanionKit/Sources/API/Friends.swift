/// A person by id and handle.
public struct Person: Sendable, Equatable, Codable {
    /// The account.
    public var id: AccountID
    /// The handle.
    public var username: String

    /// Makes a person.
    public init(id: AccountID, username: String) {
        self.id = id
        self.username = username
    }
}

/// Someone with whom there is a friendship, or a request for one.
public struct Friend: Sendable, Equatable, Codable {
    /// How someone stands to the reader.
    public enum Relation: Sendable, Equatable, Codable {
        case friend
        /// They asked.
        case incoming
        /// The reader asked.
        case outgoing
        /// A relation of a newer server.
        case unknown(String)

        /// The name on the wire.
        public var name: String {
            switch self {
            case .friend: "friend"
            case .incoming: "incoming"
            case .outgoing: "outgoing"
            case .unknown(let name): name
            }
        }

        /// Reads a relation, also one that a newer server has.
        ///
        /// - Parameter decoder: Holds a text.
        /// - Throws: `DecodingError` for what is no text.
        public init(from decoder: any Decoder) throws {
            let name = try decoder.singleValueContainer().decode(String.self)
            self =
                [.friend, .incoming, .outgoing].first { $0.name == name.lowercased() }
                ?? .unknown(name)
        }

        /// Writes the relation.
        ///
        /// - Parameter encoder: Takes a text.
        /// - Throws: What the encoder throws.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(name)
        }
    }

    /// Who it is.
    public var rider: Person
    /// How they stand to the reader.
    public var relation: Relation
}

/// A group through which others see the reader now.
public struct AudienceEntry: Sendable, Equatable, Codable {
    /// The group, without its members.
    public struct Group: Sendable, Equatable, Codable {
        /// The group.
        public var id: GroupID
        /// What it is for.
        public var kind: GroupKind
        /// Its name.
        public var name: String
    }

    /// The group.
    public var group: Group
    /// Who sees the reader in it.
    public var members: [Person]
    /// Why: `sharing` is switched on, or `while_connected`.
    public var reason: String
}
