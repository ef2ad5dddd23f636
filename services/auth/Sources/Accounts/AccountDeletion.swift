internal import Database
internal import Transit
internal import Web

/// Begins the erasure of an account: nothing of it works any more once the transaction commits.
struct AccountDeletion: Sendable {
    let sessions: Sessions
    let erasures: Erasures

    /// What became of a deletion.
    enum Outcome: Sendable {
        /// Marked; `Erasures.carryOut(_:)` comes after the commit.
        case begun(Erasure)
        /// There is no such account, or not as `isMeant` wants it.
        case notFound
        /// Without this admin nobody could let anybody in.
        case lastAdmin
    }

    /// Ends the account's sessions, empties its row and marks it for erasure in every service.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - now: The application clock.
    ///   - connection: Inside a transaction.
    ///   - isMeant: Judges the row under its lock.
    /// - Returns: What became of it; only a begun one has changed anything.
    /// - Throws: `DatabaseError` when a statement fails.
    func begin(
        _ id: UniqueID,
        at now: UnixSeconds,
        on connection: Connection,
        where isMeant: (Account) -> Bool
    ) throws(DatabaseError) -> Outcome {
        let admins = try StaffRows.lockActiveAdmins(on: connection)
        guard let account = try AccountRows.lock(id, on: connection), isMeant(account) else {
            return .notFound
        }
        guard admins != [id] else { return .lastAdmin }
        let tokensUntil = try sessions.endAll(of: id, at: now, on: connection)
        try AccountRows.empty(id, at: now, on: connection)
        return .begun(
            try erasures.begin(
                .account,
                subject: id,
                tokensUntil: tokensUntil,
                at: now,
                on: connection
            )
        )
    }
}
