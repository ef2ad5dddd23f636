internal import Database
internal import Transit
internal import Web

/// The caller's own row in a group, of whatever status: enough to answer an invitation and to leave.
struct OwnSeat {
    /// Whether the account is an accepted member.
    let isAccepted: Bool
    /// Who invited, while the invitation is open.
    let invitedBy: UniqueID?

    /// Finds the row.
    ///
    /// - Throws: `HTTPError.groupNotFound` when there is none; `DatabaseError`.
    init(of account: UniqueID, in group: UniqueID, on connection: Connection) throws {
        let row = try connection.query(
            """
            SELECT status, invited_by FROM groups.members
            WHERE group_id = $1 AND account_id = $2
            """,
            [.uuid(group), .uuid(account)]
        ).first
        guard let row else { throw HTTPError.groupNotFound }
        isAccepted = try row.text("status") == "Accepted"
        invitedBy = try row.optionalUUID("invited_by")
    }
}
