internal import Database
internal import Transit
internal import Web

/// Friendships between two accounts: asked, accepted, declined, ended (spec 1.7).
///
/// Each function runs behind the locks of both accounts, so a pair has one state at a time.
enum Friendships {
    /// Requests of one account that nobody has answered (decision 0085).
    static let openRequests = 100

    /// The row of a pair.
    struct Friendship {
        /// Whether both agreed.
        let isAccepted: Bool
        /// Who asked.
        let requestedBy: UniqueID
    }

    /// The pair's row, or nil.
    static func find(
        _ pair: Pair,
        on connection: Connection
    ) throws(DatabaseError) -> Friendship? {
        let row = try connection.query(
            """
            SELECT status, requested_by FROM groups.friendships
            WHERE low_id = $1 AND high_id = $2
            """,
            [.uuid(pair.low), .uuid(pair.high)]
        ).first
        guard let row else { return nil }
        return Friendship(
            isAccepted: try row.text("status") == "Accepted",
            requestedBy: try row.uuid("requested_by")
        )
    }

    /// Asks for a friendship; asking back accepts.
    ///
    /// - Returns: `pending` or `accepted`.
    /// - Throws: 422 when too many requests of the account are open; `DatabaseError`.
    static func request(
        by account: UniqueID,
        to other: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws -> String {
        let pair = Pair(account, other)
        guard let friendship = try find(pair, on: connection) else {
            let open = try connection.query(
                """
                SELECT count(*) FROM groups.friendships
                WHERE (low_id = $1 OR high_id = $1) AND status = 'Pending' AND requested_by = $1
                """,
                [.uuid(account)]
            ).one().int(0)
            guard open < openRequests else { throw HTTPError.tooManyFriendRequests }
            try connection.execute(
                """
                INSERT INTO groups.friendships (low_id, high_id, status, requested_by, created_at)
                VALUES ($1, $2, 'Pending', $3, $4)
                """,
                [.uuid(pair.low), .uuid(pair.high), .uuid(account), .timestamp(now)]
            )
            return "pending"
        }
        if friendship.isAccepted { return "accepted" }
        if friendship.requestedBy == account { return "pending" }
        try accept(pair, at: now, on: connection)
        return "accepted"
    }

    /// Answers a request of another account.
    ///
    /// - Returns: `accepted` or `declined`; a declined request is deleted.
    /// - Throws: 422 without a request of the other one; `DatabaseError`.
    static func respond(
        by account: UniqueID,
        to other: UniqueID,
        accepting: Bool,
        at now: UnixSeconds,
        on connection: Connection
    ) throws -> String {
        let pair = Pair(account, other)
        guard let friendship = try find(pair, on: connection), !friendship.isAccepted else {
            throw HTTPError.noPendingRequest
        }
        guard friendship.requestedBy != account else {
            throw accepting ? HTTPError.cannotAcceptOwnRequest : HTTPError.cannotDeclineOwnRequest
        }
        guard accepting else {
            try delete(pair, on: connection)
            return "declined"
        }
        try accept(pair, at: now, on: connection)
        return "accepted"
    }

    /// Deletes the pair's row.
    static func delete(_ pair: Pair, on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            "DELETE FROM groups.friendships WHERE low_id = $1 AND high_id = $2",
            [.uuid(pair.low), .uuid(pair.high)]
        )
    }

    private static func accept(
        _ pair: Pair,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            UPDATE groups.friendships SET status = 'Accepted', accepted_at = $3
            WHERE low_id = $1 AND high_id = $2
            """,
            [.uuid(pair.low), .uuid(pair.high), .timestamp(now)]
        )
    }
}
