internal import Database
internal import Transit
internal import Web

/// How many groups one account may be in, and be invited to (decision 0084): a relay, a list and an
/// export have work for each of them.
///
/// Whoever adds a row of an account holds the account's lock (``Locks``) and counts behind it, so of
/// two calls for the last place one gets it, whichever processes they reach. Nothing counts while
/// rows go: leaving, removal, declining and erasure give their places back with the row. Who has
/// more than a limit from before it keeps them.
enum AccountLimits {
    /// Open invitations of one account, to groups of every kind.
    static let openInvitations = 100
    /// Those of them that one inviter made, so that nobody takes the room of everybody else.
    static let openInvitationsByOne = 20

    /// Checks that an account may become a member of one more group.
    ///
    /// - Parameters:
    ///   - kind: The group's kind.
    ///   - account: Who is to be a member, locked.
    ///   - connection: Inside the transaction that locked the account.
    /// - Throws: 422 when it is in as many groups of the kind as it may be; `DatabaseError`.
    static func requireRoom(
        for kind: GroupKind,
        of account: UniqueID,
        on connection: Connection
    ) throws {
        let count = try connection.query(
            """
            SELECT count(*) FROM groups.members m JOIN groups.groups g ON g.id = m.group_id
            WHERE m.account_id = $1 AND \(Gate.isMember) AND g.kind = $2
            """,
            [.uuid(account), .text(kind.storedName)]
        ).one().int(0)
        guard count < kind.groupLimit else { throw HTTPError.tooManyGroups(of: kind) }
    }

    /// Checks that an account may get one more invitation.
    ///
    /// - Parameters:
    ///   - invitee: Who is invited, locked.
    ///   - inviter: Who invites.
    ///   - connection: Inside the transaction that locked the invitee.
    /// - Throws: 422 when too many of the invitee's invitations are open; `DatabaseError`.
    static func requireRoomForInvitation(
        of invitee: UniqueID,
        by inviter: UniqueID,
        on connection: Connection
    ) throws {
        let row = try connection.query(
            """
            SELECT count(*) AS open, count(*) FILTER (WHERE invited_by = $2) AS by_one
            FROM groups.members WHERE account_id = $1 AND status = 'Invited'
            """,
            [.uuid(invitee), .uuid(inviter)]
        ).one()
        guard try row.int("open") < openInvitations, try row.int("by_one") < openInvitationsByOne
        else { throw HTTPError.tooManyInvitations }
    }
}
