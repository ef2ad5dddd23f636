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

    /// A part that selects `value`, `id` and `number` after the key of `$2` and `$3`, in the groups
    /// that the account is in.
    private static func part(
        _ name: String,
        limit: Int,
        inGroups statement: String
    ) -> ExportPart {
        let survey = Survey(.members, statement) { rows throws(DatabaseError) in
            try AccountExport.Values(rows)
        }
        return part(name, limit) { account, parameters, connection throws(DatabaseError) in
            try Gate.survey(survey, of: [account], parameters, on: connection)
        }
    }

    /// A part that selects the same of the account `$1` in whatever is its own.
    private static func part(_ name: String, limit: Int, own statement: String) -> ExportPart {
        part(name, limit) { account, parameters, connection throws(DatabaseError) in
            try AccountExport.Values(
                try connection.query(statement, [.uuid(account)] + parameters)
            )
        }
    }

    private static func part(
        _ name: String,
        _ limit: Int,
        _ query:
            @escaping @Sendable (UniqueID, [SQLValue], Connection) throws(DatabaseError)
            -> AccountExport.Values
    ) -> ExportPart {
        ExportPart(
            name: name,
            limit: limit,
            start: AccountExport.Key(id: zero, number: 0),
            read: { account, key, connection throws(DatabaseError) in
                try query(account, [.uuid(key.id), .int64(key.number), .int(limit)], connection)
            }
        )
    }

    private static let friends = part(
        "friends",
        limit: 1000,
        own: """
            SELECT json_build_object('rider', json_build_object('id', id, 'username', handle),
                'relation', relation)::text AS value, id, $3::bigint AS number
            FROM (\(FriendList.source)) friend WHERE id > $2 ORDER BY id LIMIT $4
            """
    )

    private static let fixes = part(
        "fixes",
        limit: 1000,
        inGroups: """
            SELECT json_build_object('groupId', group_id, 'latitude', latitude,
                'longitude', longitude, 'accuracyMeters', accuracy_meters,
                'timestampMs', timestamp_ms)::text AS value, group_id AS id, $3::bigint AS number
            FROM seat JOIN groups.fixes USING (group_id, account_id)
            WHERE group_id > $2 ORDER BY group_id LIMIT $4
            """
    )

    /// The page is cut before a payload is read: made into JSON before they are sorted, each page would read all of them.
    private static let places = part(
        "places",
        limit: 50,
        inGroups: """
            SELECT json_build_object('id', p.id, 'groupId', p.group_id, 'name', p.name,
                'radiusMeters', p.radius_meters, 'createdAtMs', p.created_at_ms,
                'place', p.payload::json)::text AS value, p.id, $3::bigint AS number
            FROM (SELECT place.* FROM seat JOIN groups.places place
                    ON place.group_id = seat.group_id AND place.owner_id = seat.account_id
                WHERE place.id > $2 ORDER BY place.id LIMIT $4) p
            ORDER BY p.id
            """
    )

    /// Its own reports, which stay in the feed when their author has left the circle, and those that
    /// are kept for a repeat alone.
    private static let events = part(
        "events",
        limit: 1000,
        own: """
            SELECT json_build_object('id', id, 'seq', seq, 'groupId', group_id,
                'placeId', place_id, 'kind', lower(kind), 'timestampMs', timestamp_ms)::text AS value,
                group_id AS id, seq AS number
            FROM (SELECT id, seq, group_id, place_id, kind, timestamp_ms FROM groups.events
                WHERE account_id = $1
                UNION SELECT id, seq, group_id, place_id, kind, timestamp_ms
                FROM groups.event_answers WHERE account_id = $1) event
            WHERE (group_id, seq) > ($2, $3) ORDER BY group_id, seq LIMIT $4
            """
    )
}

extension AccountExport.Values {
    /// Reads the columns `value`, `id` and `number`.
    fileprivate init(_ rows: Rows) throws(DatabaseError) {
        for row in rows {
            json.append(Array(try row.text("value").utf8))
            last = AccountExport.Key(
                id: try row.uuid("id"),
                number: try row.int64("number")
            )
        }
    }
}
