internal import Database
internal import Transit

/// A person or a rider that is being forgotten: a row of `auth.erasures`.
struct Erasure: Sendable, Equatable {
    /// Whom an erasure is about.
    enum Kind: String, Sendable, CaseIterable {
        /// A pseudonymous installation.
        case rider
        /// A person's account.
        case account
    }

    /// Names the erasure in logs, where the subject must not stand.
    let id: UniqueID
    let kind: Kind
    /// The id of the account or rider.
    let subject: UniqueID
    /// The keyed hash of a rider's installation, as an id; nil for accounts.
    let successor: UniqueID?
    /// When the last token of the subject has expired by itself.
    let tokensUntil: UnixSeconds
    let requestedAt: UnixSeconds

    /// The columns that ``init(_:)`` reads.
    static let columns = "id, kind, subject, successor, tokens_until, requested_at"

    /// Reads a row of the columns above.
    init(_ row: Row) throws(DatabaseError) {
        let kindText = try row.text("kind")
        let subjectText = try row.text("subject")
        guard let kind = Kind(rawValue: kindText), let subject = UniqueID(subjectText) else {
            throw DatabaseError(.statement, "a row of auth.erasures is of no known kind")
        }
        id = try row.uuid("id")
        self.kind = kind
        self.subject = subject
        successor = try row.optionalUUID("successor")
        tokensUntil = try row.timestamp("tokens_until")
        requestedAt = try row.timestamp("requested_at")
    }
}
