internal import Database
internal import Telemetry
internal import Transit

/// The statements about `auth.riders`; each runs inside its caller's transaction.
enum RiderRows {
    /// What auth knows of a rider.
    struct Rider: Sendable {
        let id: UniqueID
        let installationID: UniqueID
        let platform: String
        let appID: String
        let appVersion: String
        let createdAt: UnixSeconds
        let lastSeenAt: UnixSeconds
        /// When the last token signed for it expires; nil for riders of before this was kept.
        let tokensUntil: UnixSeconds?
    }

    /// A rider by its id, its row locked until the transaction ends.
    static func rider(
        _ id: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> Rider? {
        let rows = try connection.query(
            "SELECT * FROM auth.riders WHERE id = $1 FOR UPDATE",
            [.uuid(id)]
        )
        guard let row = rows.first else { return nil }
        return try Rider(row)
    }

    /// A rider by the installation's id, its row locked until the transaction ends.
    static func rider(
        ofInstallation id: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> Rider? {
        let rows = try connection.query(
            "SELECT * FROM auth.riders WHERE installation_id = $1 FOR UPDATE",
            [.uuid(id)]
        )
        guard let row = rows.first else { return nil }
        return try Rider(row)
    }

    /// Notes until when a rider's tokens are valid.
    static func noteToken(
        of id: UniqueID,
        until: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            "UPDATE auth.riders SET tokens_until = GREATEST(tokens_until, $2) WHERE id = $1",
            [.uuid(id), .timestamp(until)]
        )
    }

    /// Whether the installation behind a keyed hash was blocked when its rider was forgotten.
    static func isBlocked(
        _ pseudonym: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        try !connection.query(
            "SELECT FROM auth.blocked_installations WHERE successor = $1",
            [.uuid(pseudonym)]
        ).isEmpty
    }

    /// Whether the installation behind a keyed hash is being forgotten.
    static func isBeingErased(
        _ pseudonym: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        try !connection.query(
            "SELECT FROM auth.erasures WHERE successor = $1",
            [.uuid(pseudonym)]
        ).isEmpty
    }

    /// Deletes a rider.
    static func delete(_ id: UniqueID, on connection: Connection) throws(DatabaseError) {
        try connection.execute("DELETE FROM auth.riders WHERE id = $1", [.uuid(id)])
    }
}

extension RiderRows.Rider {
    init(_ row: Row) throws(DatabaseError) {
        id = try row.uuid("id")
        installationID = try row.uuid("installation_id")
        platform = try row.text("platform")
        appID = try row.text("app_id")
        appVersion = try row.text("app_version")
        createdAt = try row.timestamp("created_at")
        lastSeenAt = try row.timestamp("last_seen_at")
        tokensUntil = try row.optionalTimestamp("tokens_until")
    }

    /// Until when tokens of this rider may be valid, at the most.
    func lastTokenEnd(at now: UnixSeconds) -> UnixSeconds {
        tokensUntil ?? now + RegisterRider.longestLifetime.components.seconds
    }
}
