internal import Database
internal import Transit
internal import Web

/// Inviting into a group and answering (spec 1.3, decisions 3, 20 and 31).
///
/// The friendship that counts is the one between inviter and invitee, checked when the invitation
/// is made and again when it is accepted; members need not all be friends of each other.
enum Invitation {
    /// Invites an account; who is in the group or invited already stays as they are.
    ///
    /// - Returns: The invitee's status, `invited` or `accepted`.
    /// - Throws: 404 for one who may not see the group, 422 for no friend, for a full group and for
    ///   too many open invitations; ``Locks/Gone``; `DatabaseError`.
    static func invite(
        _ invitee: UniqueID,
        by inviter: UniqueID,
        to groupID: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws -> String {
        try Locks.pair(inviter, invitee, orRefuse: .userNotFound, on: connection)
        let (pass, _) = try Gate.passToLockedGroup(inviter, to: groupID, on: connection)
        try requireFriends(inviter, invitee, on: connection)
        if let status = try status(of: invitee, pass) { return status }
        if let limit = pass.kind.memberLimit, try memberCount(pass) >= limit {
            throw HTTPError.groupFull(pass.kind, limit: limit)
        }
        try AccountLimits.requireRoomForInvitation(of: invitee, by: inviter, on: connection)
        try connection.execute(
            """
            INSERT INTO groups.members
                (group_id, account_id, status, invited_by, is_sharing, joined_at, turn)
            VALUES ($1, $2, 'Invited', $3, false, $4, nextval('groups.turn'))
            """,
            [.uuid(groupID), .uuid(invitee), .uuid(inviter), .timestamp(now)]
        )
        return "invited"
    }

    /// Accepts the caller's invitation.
    ///
    /// - Parameters:
    ///   - account: Who was invited.
    ///   - groupID: Where to.
    ///   - now: Milliseconds since 1970.
    ///   - connection: Inside a transaction.
    /// - Returns: What changed.
    /// - Throws: 404 without a row, 422 without an open invitation, for a friendship that ended, for
    ///   a full group and for a member of too many; ``Locks/Gone``; `DatabaseError`.
    static func accept(
        by account: UniqueID,
        in groupID: UniqueID,
        at now: Int64,
        on connection: Connection
    ) throws -> GroupChanged {
        let seat = try OwnSeat(of: account, in: groupID, on: connection)
        guard let inviter = seat.invitedBy else { throw HTTPError.noPendingInvite }
        // An erased inviter's invitations are withdrawn.
        try Locks.pair(account, inviter, orRefuse: .groupNotFound, on: connection)
        guard let group = try Locks.groups([groupID], on: connection).first else {
            throw HTTPError.groupNotFound
        }
        let seatNow = try OwnSeat(of: account, in: groupID, on: connection)
        guard seatNow.invitedBy == inviter else { throw HTTPError.noPendingInvite }
        try requireFriends(inviter, account, on: connection)
        if let limit = group.kind.memberLimit,
            try memberCount(in: groupID, on: connection) > limit
        {
            throw HTTPError.groupFull(group.kind, limit: limit)
        }
        try AccountLimits.requireRoom(for: group.kind, of: account, on: connection)
        let accepted = try connection.execute(
            """
            UPDATE groups.members SET status = 'Accepted', invited_by = NULL, is_sharing = $3,
                sharing_since_ms = $5, joined_at = $4, turn = nextval('groups.turn')
            WHERE group_id = $1 AND account_id = $2 AND status = 'Invited'
            """,
            [
                .uuid(groupID), .uuid(account), .bool(group.kind.sharesFromTheStart),
                .timestamp(now / 1000), SQLValue(group.kind.sharesFromTheStart ? now : nil),
            ]
        )
        guard accepted == 1 else { throw HTTPError.groupNotFound }
        if group.ownerID == nil {
            try connection.execute(
                "UPDATE groups.groups SET owner_id = $2 WHERE id = $1",
                [.uuid(groupID), .uuid(account)]
            )
        }
        return try group.changed(on: connection)
    }

    /// Declines the caller's invitation; another one may follow.
    ///
    /// - Throws: 404 without a row, 422 without an open invitation; `DatabaseError`.
    static func decline(
        by account: UniqueID,
        in groupID: UniqueID,
        on connection: Connection
    ) throws {
        _ = try OwnSeat(of: account, in: groupID, on: connection)
        guard let group = try Locks.groups([groupID], on: connection).first else {
            throw HTTPError.groupNotFound
        }
        guard try !OwnSeat(of: account, in: groupID, on: connection).isAccepted else {
            throw HTTPError.noPendingInvite
        }
        try Departure.withdrawInvitation(of: account, from: group, on: connection)
    }

    // MARK: - Details

    private static func requireFriends(
        _ inviter: UniqueID,
        _ invitee: UniqueID,
        on connection: Connection
    ) throws {
        let friendship = try Friendships.find(Pair(inviter, invitee), on: connection)
        guard friendship?.isAccepted ?? false else { throw HTTPError.inviteeNotAFriend }
    }

    private static func status(of account: UniqueID, _ pass: Pass) throws -> String? {
        try pass.connection.query(
            """
            SELECT lower(status) AS status FROM groups.members
            WHERE group_id = $1 AND account_id = $2
            """,
            [.uuid(pass.groupID), .uuid(account)]
        ).first?.text("status")
    }

    private static func memberCount(_ pass: Pass) throws -> Int {
        try memberCount(in: pass.groupID, on: pass.connection)
    }

    /// Everyone with a row, the invited included.
    private static func memberCount(
        in groupID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> Int {
        try connection.query(
            "SELECT count(*) FROM groups.members WHERE group_id = $1",
            [.uuid(groupID)]
        ).one().int(0)
    }
}
