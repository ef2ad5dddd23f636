internal import Database
internal import Transit

/// The statements about API keys; each runs inside the transaction that its caller opened.
enum APIKeyStore {
    /// Where changes of keys are told.
    static let channel = "feed_api_keys"

    /// Every key, the newest first.
    static func list(on connection: Connection) throws(DatabaseError) -> [APIKey] {
        let rows = try connection.query(
            """
            SELECT id, name, active, last_used_at, created_at FROM feed.api_keys ORDER BY id DESC
            """
        )
        var keys: [APIKey] = []
        for row in rows { keys.append(try APIKey(row)) }
        return keys
    }

    /// Files a new key by its digest.
    static func insert(
        name: String,
        digest: String,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> APIKey {
        let row = try connection.query(
            """
            INSERT INTO feed.api_keys (name, key_hash, created_at, updated_at)
            VALUES ($1, $2, $3, $3) RETURNING id, name, active, last_used_at, created_at
            """,
            [.text(name), .text(digest), .timestamp(now)]
        ).one()
        try tell(on: connection)
        return try APIKey(row)
    }

    /// Makes a key inactive; its row stays, so that its holder is told what happened.
    ///
    /// - Returns: false when there is no such key.
    static func deactivate(
        _ id: Int64,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        let changed = try connection.execute(
            """
            UPDATE feed.api_keys SET active = false,
                updated_at = CASE WHEN active THEN $2 ELSE updated_at END
            WHERE id = $1
            """,
            [.int64(id), .timestamp(now)]
        )
        try tell(on: connection)
        return changed == 1
    }

    /// What is needed to admit a caller, by digest.
    static func known(
        on connection: Connection
    ) throws(DatabaseError) -> [String: APIKeyBoard.Entry] {
        let rows = try connection.query("SELECT id, key_hash, active FROM feed.api_keys")
        var entries: [String: APIKeyBoard.Entry] = [:]
        for row in rows {
            entries[try row.text("key_hash")] = APIKeyBoard.Entry(
                id: try row.int64("id"),
                isActive: try row.bool("active")
            )
        }
        return entries
    }

    /// Notes when keys were used last; several replicas may, and the latest stays.
    static func noteUse(
        _ uses: [Int64: UnixSeconds],
        on connection: Connection
    ) throws(DatabaseError) {
        let uses = uses.sorted { $0.key < $1.key }
        try connection.execute(
            """
            UPDATE feed.api_keys k SET last_used_at = n.used
            FROM unnest($1::bigint[], $2::timestamptz[]) AS n (id, used)
            WHERE k.id = n.id AND (k.last_used_at IS NULL OR k.last_used_at < n.used)
            """,
            [.intArray(uses.map(\.key)), .timestampArray(uses.map(\.value))]
        )
    }

    private static func tell(on connection: Connection) throws(DatabaseError) {
        try connection.query("SELECT pg_notify($1, '')", [.text(channel)])
    }
}
