/// A kind of group and its policy, as data (seed, sections 1 and 7).
///
/// No handler asks which kind it has: it asks for the policy that it needs. The two gates that do
/// depend on the kind, voice and votes, are the relay's.
struct GroupKind: Sendable, Equatable {
    /// The name in JSON, such as `circle`.
    let name: String
    /// The name in the database; rows keep their meaning whatever happens to this list.
    let storedName: String
    /// The path segment of the kind's groups, such as `circles`.
    let collection: String
    /// Whether a group goes with its last accepted member.
    let dropsWhenEmpty: Bool
    /// Whether a member's latest fix is stored.
    let storesFixes: Bool
    /// Whether members switch their sharing on and off; without, to be connected is to share.
    let isPausable: Bool
    /// Whether members share places and tell of arrivals.
    let hasPlaces: Bool
    /// The most members, invited ones and the owner included; nil for no limit.
    let memberLimit: Int?
    /// The most groups of the kind that one account is an accepted member of (decision 0084).
    let groupLimit: Int
    /// Whether members vote on a destination.
    let allowsVotes: Bool

    /// A ride together: lives as long as someone is in it and stores no position.
    static let convoy = GroupKind(
        name: "convoy",
        storedName: "Convoy",
        collection: "convoys",
        dropsWhenEmpty: true,
        storesFixes: false,
        isPausable: false,
        hasPlaces: false,
        memberLimit: nil,
        groupLimit: 100,
        allowsVotes: true
    )

    /// Family or housemates: persists, shows who is where, and each may pause.
    static let circle = GroupKind(
        name: "circle",
        storedName: "Circle",
        collection: "circles",
        dropsWhenEmpty: false,
        storesFixes: true,
        isPausable: true,
        hasPlaces: true,
        memberLimit: 15,
        groupLimit: 20,
        allowsVotes: false
    )

    /// Every kind there is.
    static let all = [convoy, circle]

    /// Whether a new member shares at once: where sharing is a switch it is off until it is turned
    /// on (decision 1).
    var sharesFromTheStart: Bool { !isPausable }

    /// Whether a member shares by being connected, so that a fix without a socket stays out
    /// (decision 27).
    var sharesWhileConnected: Bool { !isPausable }
}

extension GroupKind {
    /// The database names of the kinds with a policy, for statements over many groups.
    static func storedNames(where policy: (GroupKind) -> Bool) -> [String] {
        all.filter(policy).map(\.storedName)
    }
}
