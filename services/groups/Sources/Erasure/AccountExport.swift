internal import Database
internal import Transit
internal import Web

/// Everything that is stored about an account, as JSON for `GET /api/me/export`.
enum AccountExport {
    /// Collects `{username, friends, groups, fixes, places, events}`.
    ///
    /// - Parameters:
    ///   - account: Whose.
    ///   - connection: Inside a transaction, so that the parts fit together.
    /// - Returns: JSON in UTF-8; of an unknown account everything is empty and `username` null.
    /// - Throws: `DatabaseError`.
    static func json(
        of account: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [UInt8] {
        try connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        let handle = try connection.query(
            "SELECT handle FROM groups.accounts WHERE id = $1",
            [.uuid(account)]
        ).first?.text("handle")
        var json = JSONWriter()
        json.beginObject()
        json.member("username", handle)
        json.key("friends")
        try FriendList(of: account, on: connection).write(to: &json)
        for kind in GroupKind.all {
            json.key(kind.collection)
            try GroupList(of: account, kind: kind, on: connection).write(to: &json)
        }
        for part in parts {
            json.key(part.name)
            let text = try connection.query(part.sql, [.uuid(account)]).one().text(0)
            json.value(json: text.utf8)
        }
        json.endObject()
        return json.bytes
    }

    private static func part(
        _ name: String,
        _ columns: String,
        _ source: String
    ) -> (
        name: String, sql: String
    ) {
        (
            name,
            "SELECT COALESCE(json_agg(json_build_object(\(columns))), '[]') FROM \(source)"
        )
    }

    private static let parts = [
        part(
            "fixes",
            """
            'groupId', group_id, 'latitude', latitude, 'longitude', longitude,
            'accuracyMeters', accuracy_meters, 'timestampMs', timestamp_ms
            """,
            "groups.fixes WHERE account_id = $1"
        ),
        part(
            "places",
            """
            'id', id, 'groupId', group_id, 'name', name, 'radiusMeters', radius_meters,
            'createdAtMs', created_at_ms, 'place', payload::json
            """,
            "groups.places WHERE owner_id = $1"
        ),
        part(
            "events",
            """
            'id', id, 'seq', seq, 'groupId', group_id, 'placeId', place_id,
            'kind', lower(kind), 'timestampMs', timestamp_ms
            """,
            "groups.events WHERE account_id = $1"
        ),
    ]
}
