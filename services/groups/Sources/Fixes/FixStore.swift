internal import Database
internal import Messages
internal import Transit

/// The last fix of each member, one row overwritten in place (seed, section 8).
///
/// Which of two fixes is the later one is said by our clock, never by a phone's.
enum FixStore {
    /// A group to which an account's position may go now.
    struct Target: Sendable, Equatable {
        let accountID: UniqueID
        let groupID: UniqueID
        let kind: GroupKind
        let version: Int64
    }

    private static let overwriting = """
        ON CONFLICT (group_id, account_id) DO UPDATE SET latitude = excluded.latitude,
            longitude = excluded.longitude, accuracy_meters = excluded.accuracy_meters,
            timestamp_ms = excluded.timestamp_ms, received_at_ms = excluded.received_at_ms
        WHERE f.received_at_ms <= excluded.received_at_ms
        """

    /// Stores a fix in one group.
    ///
    /// - Parameters:
    ///   - fix: The fix.
    ///   - pass: Of a member who shares, with the membership held.
    /// - Throws: `DatabaseError`.
    static func store(_ fix: MemberFix, _ pass: Pass) throws(DatabaseError) {
        try pass.connection.execute(
            """
            INSERT INTO groups.fixes AS f (group_id, account_id, latitude, longitude,
                accuracy_meters, timestamp_ms, received_at_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            \(overwriting)
            """,
            [
                .uuid(pass.groupID), .uuid(pass.accountID), .double(fix.latitude),
                .double(fix.longitude), SQLValue(fix.accuracyMeters),
                .int64(fix.timestampMilliseconds), .int64(fix.receivedAtMilliseconds),
            ]
        )
    }

    /// Every group to which the accounts shared when their fixes were received; they are stored where the
    /// kind stores fixes.
    private static let everywhere = Survey(
        .heldSharers,
        steps: [
            """
            target AS (SELECT seat.group_id, g.kind, g.version, n.*
                FROM seat JOIN groups.groups g ON g.id = seat.group_id
                JOIN unnest($1::uuid[], $2::float8[], $3::float8[], $4::float8[], $5::bigint[],
                    $6::bigint[])
                    AS n (account_id, latitude, longitude, accuracy, timestamp_ms, received_at_ms)
                    ON n.account_id = seat.account_id AND n.received_at_ms >= seat.sharing_since_ms)
            """,
            """
            stored AS (
                INSERT INTO groups.fixes AS f (group_id, account_id, latitude, longitude,
                    accuracy_meters, timestamp_ms, received_at_ms)
                SELECT group_id, account_id, latitude, longitude, accuracy, timestamp_ms,
                    received_at_ms
                FROM target WHERE kind = ANY ($7::text[]) ORDER BY group_id, account_id
                \(overwriting))
            """,
        ],
        "SELECT account_id, group_id, kind, version FROM target",
        read: { rows throws(DatabaseError) in try targets(rows) }
    )

    /// Stores fixes in every group to which their members share and whose kind stores fixes.
    ///
    /// With one statement; the memberships are held while it runs. A fix that was received before its
    /// member shared to a group does not go there: relays bring fixes some seconds late, and a call may wait.
    ///
    /// - Parameters:
    ///   - fixes: At most one of each account.
    ///   - connection: Inside a transaction or not.
    /// - Returns: Every group to which the fixes may go, whether it stores fixes or not.
    /// - Throws: `DatabaseError`.
    static func storeEverywhere(
        _ fixes: [AccountFix],
        on connection: Connection
    ) throws(DatabaseError) -> [Target] {
        try Gate.survey(
            everywhere,
            of: fixes.map(\.accountID),
            [
                .doubleArray(fixes.map(\.fix.latitude)),
                .doubleArray(fixes.map(\.fix.longitude)),
                .doubleArray(fixes.map(\.fix.accuracyMeters)),
                .intArray(fixes.map(\.fix.timestampMilliseconds)),
                .intArray(fixes.map(\.fix.receivedAtMilliseconds)),
                .textArray(GroupKind.storedNames(where: \.storesFixes)),
            ],
            on: connection
        )
    }

    private static func targets(_ rows: Rows) throws(DatabaseError) -> [Target] {
        var targets: [Target] = []
        targets.reserveCapacity(rows.count)
        for row in rows {
            targets.append(
                Target(
                    accountID: try row.uuid("account_id"),
                    groupID: try row.uuid("group_id"),
                    kind: try GroupKind(row),
                    version: try row.int64("version")
                )
            )
        }
        return targets
    }

    /// Deletes a member's fix in one group.
    static func delete(_ pass: Pass) throws(DatabaseError) {
        try pass.connection.execute(
            "DELETE FROM groups.fixes WHERE group_id = $1 AND account_id = $2",
            [.uuid(pass.groupID), .uuid(pass.accountID)]
        )
    }
}

extension MemberFix {
    /// Reads the columns of `groups.fixes`.
    init(_ row: Row) throws(DatabaseError) {
        self.init(
            latitude: try row.double("latitude"),
            longitude: try row.double("longitude"),
            accuracyMeters: try row.optionalDouble("accuracy_meters"),
            timestampMilliseconds: try row.int64("timestamp_ms"),
            receivedAtMilliseconds: try row.int64("received_at_ms")
        )
    }
}
