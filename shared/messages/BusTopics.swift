/// The names that publishers and subscribers of the bus agree on.
public enum BusTopics {
    /// What verifiers say about vehicles: ``Estimates`` of a slot, whole, with its number as the key.
    public static let estimates = "estimates"
    /// What a verifier owns: its ``SlotTable``, whole.
    public static let slots = "slots"
    /// What agencies and drivers report: ``TrustedVehicles``, whole, from the feed's builder.
    public static let trusted = "trusted"
    /// What readers get: ``BuiltFeed``, whole, from the feed's builder, with the feed's name as the key.
    public static let built = "built"
    /// That a group changed: a ``GroupChange`` with the group as the key, not kept.
    public static let groupChanges = "group-changes"
    /// Fixes that came over HTTP: a ``LiveFix`` with the account as the key, not kept.
    public static let liveFixes = "live-fixes"
    /// Arrivals and departures: a ``PlaceEventNotice``, each with a key of its own, not kept.
    public static let placeEvents = "place-events"
    /// Who has an open socket where: a ``RelayPresence``, whole, with the number of its part as the key.
    public static let presence = "relay-presence"
    /// What relays tell one of them: a ``RelayNews``, not kept, on a topic of the reader's own.
    public static func relayNews(to instance: String) -> String { "relay-news.\(instance)" }
    /// Tokens and subjects that were just revoked: ``Revocations``, not kept, from any auth.
    public static let revocations = "revocations"
    /// How the polling of agencies' feeds goes: ``AgencyFeeds``, whole, from the feed's builder.
    public static let agencies = "agencies"
}

/// The names of the services as they stand in the bus's directory.
public enum ServiceNames {
    /// Accounts, installations and tokens.
    public static let auth = "auth"
    /// The riders' HTTP surface.
    public static let riderIngest = "rider-ingest"
    /// Rides and verdicts.
    public static let verifier = "verifier"
    /// Publication.
    public static let feed = "feed"
    /// Friendships and memberships.
    public static let groups = "groups"
    /// Open sockets.
    public static let relay = "relay"
}
