internal import Database
internal import Transit
internal import Web

/// One member of an export: an array that is read a page at a time.
struct ExportPart: Sendable {
    typealias Read =
        @Sendable (UniqueID, AccountExport.Key, Connection) throws(DatabaseError)
            -> AccountExport.Values

    /// The member's name.
    let name: String
    /// Values of a page: a place has up to 64 KiB, and a convoy of ten thousand members one megabyte.
    let limit: Int
    /// What every value comes after.
    let start: AccountExport.Key
    /// The values of an account after a key, at most ``limit``.
    let read: Read

    /// In the order of the export.
    static let all =
        [friends] + GroupKind.all.map(groups) + [fixes, places, events]

    private static let zero = UniqueID(high: 0, low: 0)

    /// Newest first.
    private static func groups(of kind: GroupKind) -> ExportPart {
        let limit = 10
        return ExportPart(
            name: kind.collection,
            limit: limit,
            start: AccountExport.Key(id: zero, number: .max),
            read: { account, key, connection throws(DatabaseError) in
                let list = try GroupList(
                    of: account,
                    kind: kind,
                    before: key.number,
                    limit: limit,
                    on: connection
                )
                return AccountExport.Values(
                    json: list.entries.map { entry in
                        var json = JSONWriter()
                        entry.write(to: &json)
                        return json.bytes
                    },
                    last: list.lastTurn.map { AccountExport.Key(id: zero, number: $0) }
                )
            }
        )
    }

    /// A part whose statement selects `value`, `id` and `number` of the account `$1` after the key
    /// of `$2` and `$3`.
    private static func part(_ name: String, limit: Int, _ sql: String) -> ExportPart {
        ExportPart(
            name: name,
            limit: limit,
            start: AccountExport.Key(id: zero, number: 0),
            read: { account, key, connection throws(DatabaseError) in
                let rows = try connection.query(
                    sql,
                    [.uuid(account), .uuid(key.id), .int64(key.number), .int(limit)]
                )
                var values = AccountExport.Values()
                for row in rows {
                    values.json.append(Array(try row.text("value").utf8))
                    values.last = AccountExport.Key(
                        id: try row.uuid("id"),
                        number: try row.int64("number")
                    )
                }
                return values
            }
        )
    }

    private static let friends = part(
        "friends",
        limit: 1000,
        """
        SELECT json_build_object('rider', json_build_object('id', id, 'username', handle),
            'relation', relation)::text AS value, id, $3::bigint AS number
        FROM (\(FriendList.source)) friend WHERE id > $2 ORDER BY id LIMIT $4
        """
    )

    private static let fixes = part(
        "fixes",
        limit: 1000,
        """
        SELECT json_build_object('groupId', group_id, 'latitude', latitude,
            'longitude', longitude, 'accuracyMeters', accuracy_meters,
            'timestampMs', timestamp_ms)::text AS value, group_id AS id, $3::bigint AS number
        FROM groups.fixes WHERE account_id = $1 AND group_id > $2 ORDER BY group_id LIMIT $4
        """
    )

    private static let places = part(
        "places",
        limit: 50,
        """
        SELECT json_build_object('id', id, 'groupId', group_id, 'name', name,
            'radiusMeters', radius_meters, 'createdAtMs', created_at_ms,
            'place', payload::json)::text AS value, id, $3::bigint AS number
        FROM groups.places WHERE owner_id = $1 AND id > $2 ORDER BY id LIMIT $4
        """
    )

    private static let events = part(
        "events",
        limit: 1000,
        """
        SELECT json_build_object('id', id, 'seq', seq, 'groupId', group_id,
            'placeId', place_id, 'kind', lower(kind), 'timestampMs', timestamp_ms)::text AS value,
            group_id AS id, seq AS number
        FROM groups.events WHERE account_id = $1 AND (group_id, seq) > ($2, $3)
        ORDER BY group_id, seq LIMIT $4
        """
    )
}
