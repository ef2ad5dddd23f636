internal import Messages
internal import Transit

/// What a transaction changed in one group, to be told after its commit.
struct GroupChanged: Sendable, Equatable {
    /// The group.
    let groupID: UniqueID
    /// Its version after the change.
    let version: UInt64
    /// Whether it does not exist any more.
    var isGone = false
    /// Who may not be seen there from now on.
    var withdrawals: [Withdrawal] = []

    /// Makes a change.
    init(_ groupID: UniqueID, version: Int64, isGone: Bool = false) {
        self.groupID = groupID
        self.version = UInt64(clamping: version)
        self.isGone = isGone
    }

    /// Notes that a member may not be seen there any more.
    mutating func withdraw(_ accountID: UniqueID, _ reason: Withdrawal.Reason) {
        withdrawals.append(
            Withdrawal(groupID: groupID, accountID: accountID, version: version, reason: reason)
        )
    }
}
