/// Why a piece of database work did not end as asked, and what is known about its effect.
public struct DatabaseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What failed, which decides what is known about the work's effect.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// No connection, or it ended before a COMMIT was sent: nothing was stored.
        case connection
        /// The server refused a statement, or a result is not what the reader asked for: the
        /// transaction was rolled back.
        case statement
        /// The connection ended after COMMIT was sent: stored or not, nobody here can tell.
        case outcomeUnknown
        /// The pool, writer or connection was closed by its owner: nothing was stored.
        case closed
        /// A bounded queue had no room: the work was not begun.
        case full
    }

    /// What failed.
    public let kind: Kind
    /// The five characters of PostgreSQL's error code, where the server gave one.
    public let sqlState: String?
    /// One sentence without the values of any row.
    public let message: String
    /// The violated constraint or unique index, where the server named one.
    public let constraint: String?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - kind: What failed.
    ///   - message: One sentence; never values of rows.
    ///   - sqlState: PostgreSQL's error code.
    ///   - constraint: The violated constraint.
    public init(
        _ kind: Kind,
        _ message: String,
        sqlState: String? = nil,
        constraint: String? = nil
    ) {
        self.kind = kind
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
    }

    /// Whether a unique index or primary key refused a row (SQLSTATE 23505).
    public var isUniqueViolation: Bool { sqlState == "23505" }

    /// Whether the same work may succeed when it is sent again: 503 to a caller, otherwise 500.
    ///
    /// True for everything but a statement that the server would refuse again. After
    /// ``Kind/outcomeUnknown`` only idempotent work may be repeated.
    public var isRetryable: Bool {
        guard kind == .statement else { return true }
        guard let sqlState else { return false }
        switch sqlState {
        // Serialization failure, deadlock, lock not available, cancelled by a timeout.
        case "40001", "40P01", "55P03", "57014": return true
        // A check that has no name is a partition's own: the row was routed to the default
        // partition just before its day's was attached.
        case "23514" where constraint == nil: return true
        // 08 connection, 53 out of resources, 57P0x shutting down or starting, 25006 read-only
        // (a standby), 58 the server's disk.
        default:
            return sqlState.hasPrefix("08") || sqlState.hasPrefix("53")
                || sqlState.hasPrefix("57P") || sqlState.hasPrefix("58") || sqlState == "25006"
        }
    }

    /// The sentence with its kind and SQLSTATE, for logs.
    public var description: String {
        var text = "\(kind.rawValue): \(message)"
        if let sqlState { text += " [\(sqlState)]" }
        if let constraint { text += " (\(constraint))" }
        return text
    }
}
