internal import Database
internal import Transit
internal import Web

/// The one gate between an account and a group (seed, section 9).
///
/// "May this account see that group now?" is answered here and nowhere else, from the rows of this
/// moment. Who has no accepted membership, whoever asks for a group that does not exist, and who
/// asks a group for what its kind does not have get the same refusal after the same look.
enum Gate {
    /// What an answer holds until its transaction ends.
    enum Hold {
        /// Nothing.
        case nothing
        /// The membership stays as it is; others may hold it so too. For fixes.
        case membership
        /// The membership stays as it is and is held alone. For what is counted by member.
        case membershipAlone
    }

    /// An accepted membership: the condition of every look through this gate, the relays' included.
    static let isMember = "m.status = 'Accepted'"

    /// A seat of `$2` in the group `$1`, whose kind is one of `$3`: a group of another kind is as one
    /// that does not exist.
    ///
    /// The account's own row comes first and the group is looked at for its members alone; `OFFSET 0`
    /// holds the planner to that. So a stranger's call does the same whether the group exists or not,
    /// and no clock tells them.
    private static let seat = """
        SELECT g.kind, g.version, m.sharing_since_ms
        FROM groups.members m CROSS JOIN LATERAL (SELECT kind, version FROM groups.groups
            WHERE id = m.group_id AND kind = ANY ($3::text[]) OFFSET 0) g
        WHERE m.group_id = $1 AND m.account_id = $2 AND \(isMember)
        """
    private static let heldSeat = seat + " FOR SHARE OF m"
    private static let seatHeldAlone = seat + " FOR NO KEY UPDATE OF m"

    /// Lets an account into a group.
    ///
    /// - Parameters:
    ///   - account: Who asks.
    ///   - group: The group.
    ///   - hold: What stays as it is until the transaction ends.
    ///   - policy: What the group's kind must have.
    ///   - connection: Where the work that follows runs.
    /// - Returns: The pass, good on this connection.
    /// - Throws: `HTTPError.groupNotFound` for everyone else; `DatabaseError`.
    static func pass(
        _ account: UniqueID,
        to group: UniqueID,
        holding hold: Hold = .nothing,
        where policy: (GroupKind) -> Bool = { _ in true },
        on connection: Connection
    ) throws -> Pass {
        let sql =
            switch hold {
            case .nothing: seat
            case .membership: heldSeat
            case .membershipAlone: seatHeldAlone
            }
        let row = try connection.query(sql, parameters(account, group, policy)).first
        guard let row else { throw HTTPError.groupNotFound }
        return try Pass(row, account, group, connection)
    }

    /// Lets an account into a group whose members do not change until the transaction ends.
    ///
    /// Who is refused takes no lock: a stranger can hold up nobody.
    ///
    /// - Parameters:
    ///   - account: Who asks.
    ///   - group: The group.
    ///   - policy: What the group's kind must have.
    ///   - connection: Inside a transaction.
    /// - Returns: The pass and the locked group.
    /// - Throws: `HTTPError.groupNotFound` for everyone else; `DatabaseError`.
    static func passToLockedGroup(
        _ account: UniqueID,
        to group: UniqueID,
        where policy: (GroupKind) -> Bool = { _ in true },
        on connection: Connection
    ) throws -> (pass: Pass, group: LockedGroup) {
        _ = try pass(account, to: group, where: policy, on: connection)
        guard let locked = try Locks.groups([group], on: connection).first else {
            throw HTTPError.groupNotFound
        }
        let pass = try pass(account, to: group, where: policy, on: connection)
        return (pass, locked)
    }

    /// Reads from a group in the very statement that lets the account in.
    ///
    /// - Parameters:
    ///   - look: What is read.
    ///   - account: Who asks.
    ///   - group: The group.
    ///   - parameters: The look's own parameters, from `$4` on.
    ///   - connection: Inside a transaction or not.
    /// - Returns: What the look reads.
    /// - Throws: `HTTPError.groupNotFound` for everyone else; `DatabaseError`.
    static func read<Value>(
        _ look: Look<Value>,
        as account: UniqueID,
        from group: UniqueID,
        _ parameters: [SQLValue] = [],
        on connection: Connection
    ) throws -> Value {
        let rows = try connection.query(
            look.sql,
            Self.parameters(account, group, look.policy) + parameters
        )
        guard !rows.isEmpty else { throw HTTPError.groupNotFound }
        return try look.read(rows.filter { row in try !row.isNull(look.mark) })
    }

    private static func parameters(
        _ account: UniqueID,
        _ group: UniqueID,
        _ policy: (GroupKind) -> Bool
    ) -> [SQLValue] {
        [
            .uuid(group), .uuid(account),
            .textArray(GroupKind.storedNames(where: policy)),
        ]
    }

    /// The statement of a look: the seat, and beside it what is read of the group.
    fileprivate static func statement(
        _ columns: String,
        _ source: String,
        _ order: String
    ) -> String {
        """
        SELECT \(columns)
        FROM (\(seat)) seat LEFT JOIN LATERAL (\(source)) look ON true ORDER BY \(order)
        """
    }
}

/// The gate's answer: this account may see that group now.
///
/// Only the gate makes one, and every function that reads or writes what is in a group wants one.
/// It holds the connection of the transaction in which the gate answered, so it cannot leave that
/// connection's thread, and whoever has it works there and then.
struct Pass {
    /// Where the gate answered.
    let connection: Connection
    /// Who may.
    let accountID: UniqueID
    /// Where to.
    let groupID: UniqueID
    /// The group's kind.
    let kind: GroupKind
    /// The group's version.
    let version: Int64
    /// Since when the account's own position may go to the other members, our clock, POSIX milliseconds; nil
    /// while it may not.
    let sharingSince: Int64?

    fileprivate init(
        _ row: Row,
        _ account: UniqueID,
        _ group: UniqueID,
        _ connection: Connection
    ) throws {
        self.connection = connection
        accountID = account
        groupID = group
        kind = try GroupKind(row)
        version = try row.int64("version")
        sharingSince = try row.optionalInt64("sharing_since_ms")
    }

    /// Whether the account's own position may go to the other members.
    var isSharing: Bool { sharingSince != nil }

    /// Whether what the account sent may go to the other members: not what came before it shared, however
    /// long the call then waited for its turn.
    ///
    /// - Parameter milliseconds: When it was received, our clock, POSIX milliseconds.
    /// - Returns: Whether it may.
    func shares(receivedAt milliseconds: Int64) -> Bool {
        sharingSince.map { $0 <= milliseconds } ?? false
    }
}

/// Something that members may read of a group; it comes through ``Gate/read(_:as:from:_:on:)``.
struct Look<Value>: Sendable {
    /// The whole statement.
    fileprivate let sql: String
    /// A column that is never NULL in what is read.
    fileprivate let mark: String
    fileprivate let policy: @Sendable (GroupKind) -> Bool
    fileprivate let read: @Sendable ([Row]) throws -> Value

    /// Describes a look.
    ///
    /// - Parameters:
    ///   - columns: What is read, as `look.<name>, …`.
    ///   - source: A SELECT over the group `$1` with those names.
    ///   - order: The order of the rows.
    ///   - mark: The name of a column that is never NULL.
    ///   - policy: What the group's kind must have.
    ///   - read: Makes the value.
    init(
        _ columns: String,
        from source: String,
        orderedBy order: String,
        mark: String,
        where policy: @escaping @Sendable (GroupKind) -> Bool,
        read: @escaping @Sendable ([Row]) throws -> Value
    ) {
        sql = Gate.statement(columns, source, order)
        self.mark = mark
        self.policy = policy
        self.read = read
    }
}
