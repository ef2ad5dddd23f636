internal import Database
internal import Transit
internal import Web

/// Something that is read or written in all groups of some accounts at once; it comes through
/// ``Gate/survey(_:of:_:on:)``.
///
/// Its statement sees the memberships that the gate lets through as the relation `seat`, with the
/// columns of `groups.members`, and has no other way in: the gate writes the statement's beginning.
struct Survey<Value>: Sendable {
    /// The whole statement.
    fileprivate let sql: String
    fileprivate let read: @Sendable (Rows) throws(DatabaseError) -> Value

    /// Describes a survey.
    ///
    /// - Parameters:
    ///   - seats: Which memberships it is about.
    ///   - steps: What the statement works out or writes on its way, as `name AS (…)`.
    ///   - statement: A SELECT over `seat`; the accounts are `$1`, its own parameters begin at `$2`.
    ///   - read: Makes the value.
    init(
        _ seats: Gate.Seats,
        steps: [String] = [],
        _ statement: String,
        read: @escaping @Sendable (Rows) throws(DatabaseError) -> Value
    ) {
        let parts = ["seat AS \(seats.sql)"] + steps
        sql = "WITH " + parts.joined(separator: ",\n") + "\n" + statement
        self.read = read
    }
}

extension Gate {
    /// Which memberships a survey is about.
    enum Seats: Sendable {
        /// Accepted ones of the accounts.
        case members
        /// Accepted ones of the accounts, where their position may go to the others.
        case sharers
        /// As ``sharers``, and they stay as they are until the transaction ends. For fixes.
        case heldSharers
        /// The accounts' own rows of whatever status: what shows them which groups they are in or
        /// invited to.
        case ownRows
        /// Accepted ones of everybody in the groups in which one of the accounts is a member and in
        /// the groups `$2`: what the relay holds.
        case views
        /// Accepted ones of the accounts; of everybody without accounts.
        case sweep

        fileprivate var sql: String {
            let rows = "SELECT m.* FROM groups.members m WHERE"
            let accounts = "m.account_id = ANY ($1::uuid[])"
            return switch self {
            case .members: "(\(rows) \(accounts) AND \(isMember))"
            case .sharers: "(\(rows) \(accounts) AND \(isMember) AND m.is_sharing)"
            case .heldSharers:
                """
                MATERIALIZED (\(rows) \(accounts) AND \(isMember) AND m.is_sharing
                    ORDER BY m.group_id, m.account_id FOR SHARE OF m)
                """
            case .ownRows: "(\(rows) \(accounts))"
            case .views:
                """
                (\(rows) \(isMember) AND m.group_id IN (SELECT unnest($2::uuid[])
                    UNION SELECT m.group_id FROM groups.members m WHERE \(accounts) AND \(isMember)))
                """
            case .sweep:
                "(\(rows) \(isMember) AND (\(accounts) OR cardinality($1::uuid[]) = 0))"
            }
        }
    }

    /// Lets accounts into all their groups for one statement.
    ///
    /// - Parameters:
    ///   - survey: What is read or written.
    ///   - accounts: Whose memberships it is about.
    ///   - parameters: The survey's own parameters, from `$2` on.
    ///   - connection: Inside a transaction or not.
    /// - Returns: What the survey reads.
    /// - Throws: `DatabaseError`.
    static func survey<Value>(
        _ survey: Survey<Value>,
        of accounts: [UniqueID],
        _ parameters: [SQLValue] = [],
        on connection: Connection
    ) throws(DatabaseError) -> Value {
        try survey.read(try connection.query(survey.sql, [.uuidArray(accounts)] + parameters))
    }
}
