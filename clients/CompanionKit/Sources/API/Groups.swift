/// What a group is for; the rules that differ are the server's.
public enum GroupKind: String, Sendable, Codable, CaseIterable {
    /// Family or housemates: lasts, shows who is where, and each member switches their sharing.
    case circle
    /// A ride together: nothing is stored, and to be connected is to share.
    case convoy

    /// The path segment of the kind's groups.
    var collection: String { rawValue + "s" }
}

/// How someone stands to a group.
public enum MembershipStatus: Sendable, Equatable, Codable {
    case invited
    case accepted
    /// The invitation was declined; answers to ``CompanionAPI/respond(to:accepting:)`` alone say so.
    case declined
    /// A status of a newer server; not a member.
    case unknown(String)

    /// The name on the wire.
    public var name: String {
        switch self {
        case .invited: "invited"
        case .accepted: "accepted"
        case .declined: "declined"
        case .unknown(let name): name
        }
    }

    /// Reads a status, also one that a newer server has.
    ///
    /// - Parameter decoder: Holds a text.
    /// - Throws: `DecodingError` for what is no text.
    public init(from decoder: any Decoder) throws {
        let name = try decoder.singleValueContainer().decode(String.self)
        self =
            [.invited, .accepted, .declined].first { $0.name == name.lowercased() }
            ?? .unknown(name)
    }

    /// Writes the status.
    ///
    /// - Parameter encoder: Takes a text.
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

/// A member of a group, or someone invited to it.
public struct GroupMember: Sendable, Equatable, Codable {
    /// The account, by which people are compared.
    public var id: AccountID
    /// The handle, for people to read.
    public var username: String
    /// Whether they are in.
    public var status: MembershipStatus
    /// Whether they share in a circle; nil in a convoy, where to be connected is to share.
    public var sharing: Bool?

    /// Makes a member.
    public init(id: AccountID, username: String, status: MembershipStatus, sharing: Bool?) {
        self.id = id
        self.username = username
        self.status = status
        self.sharing = sharing
    }

    /// Whether the others may see where they are: nobody said that they pause.
    public var canBeSeen: Bool { status == .accepted && sharing ?? true }
}

/// A circle or convoy as its reader sees it.
///
/// The one answer that pairs ids with handles: everything live names people by id alone.
public struct CompanionGroup: Sendable, Equatable, Codable {
    /// The group.
    public var id: GroupID
    /// What it is for.
    public var kind: GroupKind
    /// 1 to 40 characters.
    public var name: String
    /// Whose it is; nil from servers that do not say.
    public var ownerID: AccountID?
    /// How the reader stands to it.
    public var status: MembershipStatus
    /// Everyone in it and everyone invited.
    public var members: [GroupMember]

    enum CodingKeys: String, CodingKey {
        case id
        case kind
        case name
        case ownerID = "ownerId"
        case status
        case members
    }

    /// Makes a group.
    public init(
        id: GroupID,
        kind: GroupKind,
        name: String,
        ownerID: AccountID?,
        status: MembershipStatus,
        members: [GroupMember]
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.ownerID = ownerID
        self.status = status
        self.members = members
    }

    /// Whether an account shares its position in this group now: its own row decides, found by id.
    public func isShared(by account: AccountID) -> Bool {
        members.contains { $0.id == account && $0.canBeSeen }
    }

    /// A member's handle, nil for someone who is not in the list.
    public func username(of account: AccountID) -> String? {
        members.first { $0.id == account }?.username
    }
}
