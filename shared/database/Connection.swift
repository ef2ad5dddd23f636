internal import CLibPQ
internal import Glibc
internal import Telemetry

/// One connection to PostgreSQL, lent to a closure on the thread that owns it.
///
/// Not `Sendable`: calls block, so they belong on that thread and never on Swift's cooperative
/// pool. Statements are prepared at first use and kept by their text, so text is constant and
/// values are parameters. Every wait is bounded: the server cancels a statement after
/// ``DatabaseConfiguration/statementTimeout``, and a server that says nothing for that long and
/// ``DatabaseConfiguration/answerMargin`` more loses its connection.
public final class Connection {
    /// Counts connections of this owner: it rises at each reconnect, so whatever lived in the
    /// session (advisory locks, temporary tables) is gone when it differs.
    public let generation: Int
    /// The server process that serves this connection, as in `pg_stat_activity.pid`.
    public let backendPID: Int32
    /// The role of the configuration, worked as since the connection was made.
    let role: String?
    /// How long to wait for an answer before the connection is given up.
    var answerTimeout: Duration
    /// The file descriptor, for whoever must cut a connection that is stuck.
    let socket: Int32

    private let handle: OpaquePointer
    private let schema: String?
    private let want: ServerWant
    private var isOpen = true
    private var statements = StatementCache()
    private var depth = 0
    private var rollsBack = false
    /// Why this connection was given up, where we did it ourselves.
    private var givenUp: DatabaseError?

    /// Connects, and prepares the session: UTC, time limits, schema and role.
    init(_ configuration: DatabaseConfiguration, generation: Int) throws(DatabaseError) {
        let handle = try connect(configuration)
        self.handle = handle
        self.generation = generation
        backendPID = PQbackendPID(handle)
        socket = PQsocket(handle)
        role = configuration.role
        schema = configuration.schema
        want = configuration.want
        answerTimeout = configuration.statementTimeout + configuration.answerMargin
        PQsetNoticeReceiver(handle, ignoreNotice, nil)
        // Only in this mode is no send and no wait without our own limit.
        PQsetnonblocking(handle, 1)
        try script(sessionSettings(configuration))
    }

    deinit { close() }

    /// Ends the session; whatever was not committed is gone.
    func close() {
        guard isOpen else { return }
        isOpen = false
        PQfinish(handle)
    }

    // MARK: - Statements

    /// Runs one statement and gives its rows back.
    ///
    /// - Parameters:
    ///   - sql: One statement with `$1`, `$2`, …; constant text, as it is the cache's key.
    ///   - parameters: The values in order.
    /// - Returns: The rows, none for statements that give none.
    /// - Throws: ``DatabaseError``; inside a transaction only a rollback may follow then.
    @discardableResult
    public func query(
        _ sql: String,
        _ parameters: [SQLValue] = []
    ) throws(DatabaseError) -> Rows {
        let encoded = try EncodedParameters(parameters)
        let statement = try prepared(sql, encoded.types)
        let sent = encoded.withPointers { values in
            PQsendQueryPrepared(
                handle,
                statement.name,
                Int32(encoded.types.count),
                values,
                encoded.lengths,
                encoded.formats,
                1
            )
        }
        guard sent == 1 else { throw connectionError() }
        let result: OpaquePointer
        do throws(DatabaseError) {
            result = try answer()
        } catch {
            // The table changed under the plan, or someone dropped our statements: prepared again
            // at the next use.
            if error.sqlState == "0A000" || error.sqlState == "26000" {
                statements.remove(sql, encoded.types)
            }
            throw error
        }
        let rows = Rows(result, columns: statement.columns)
        if statement.columns == nil { statements.remember(rows.columns, sql, encoded.types) }
        return rows
    }

    /// Runs one statement for its effect.
    ///
    /// - Parameters:
    ///   - sql: One statement with `$1`, `$2`, …; constant text, as it is the cache's key.
    ///   - parameters: The values in order.
    /// - Returns: The number of rows that the statement inserted, updated, deleted or selected.
    /// - Throws: ``DatabaseError``; inside a transaction only a rollback may follow then.
    @discardableResult
    public func execute(
        _ sql: String,
        _ parameters: [SQLValue] = []
    ) throws(DatabaseError) -> Int {
        try query(sql, parameters).affected
    }

    /// Runs several statements separated by semicolons, without parameters and without a cache.
    ///
    /// Outside a transaction they are one transaction of their own.
    ///
    /// - Throws: ``DatabaseError`` of the first statement that failed.
    public func script(_ sql: String) throws(DatabaseError) {
        guard !sql.utf8.contains(0) else {
            throw DatabaseError(.statement, "a script contains U+0000", sqlState: "22021")
        }
        guard PQsendQuery(handle, sql) == 1 else { throw connectionError() }
        PQclear(try answer())
    }

    // MARK: - Transactions

    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// Inside another transaction it is a savepoint, so that a failure undoes only this part.
    ///
    /// - Parameter body: The work; it may be called on to roll back with ``rollBackAtEnd()``.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``DatabaseError/Kind/connection`` when the connection ended
    ///   before COMMIT was sent (nothing is stored); ``DatabaseError/Kind/outcomeUnknown`` when it
    ///   ended after that.
    @discardableResult
    public func transaction<Value>(
        _ body: () throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value {
        if depth > 0 { return try savepoint(body) }
        try script("BEGIN")
        depth = 1
        rollsBack = false
        defer { depth = 0 }
        let value: Value
        do throws(DatabaseError) {
            value = try body()
        } catch {
            // A failed rollback means a dead connection, and that rolls back by itself.
            try? script("ROLLBACK")
            throw error
        }
        if rollsBack {
            try script("ROLLBACK")
        } else {
            try commit()
        }
        return value
    }

    /// Lets the innermost open ``transaction(_:)`` roll back although its body returns a value.
    public func rollBackAtEnd() {
        precondition(depth > 0, "there is no transaction to roll back")
        rollsBack = true
    }

    private func savepoint<Value>(
        _ body: () throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value {
        let name = "level_\(depth)"
        let outerRollsBack = rollsBack
        rollsBack = false
        try script("SAVEPOINT \(name)")
        depth += 1
        defer {
            depth -= 1
            rollsBack = outerRollsBack
        }
        let value: Value
        do throws(DatabaseError) {
            value = try body()
        } catch {
            try? script("ROLLBACK TO SAVEPOINT \(name); RELEASE SAVEPOINT \(name)")
            throw error
        }
        try script(
            (rollsBack ? "ROLLBACK TO SAVEPOINT \(name); " : "") + "RELEASE SAVEPOINT \(name)"
        )
        return value
    }

    private func commit() throws(DatabaseError) {
        // A farewell that already lies in the socket came before our COMMIT: nothing is stored.
        guard absorb() else { throw connectionError() }
        // On a dead socket libpq fails here only when nothing was handed to the kernel.
        guard PQsendQuery(handle, "COMMIT") == 1 else { throw connectionError() }
        let result: OpaquePointer
        do throws(DatabaseError) {
            result = try answer()
        } catch {
            guard !isUsable else { throw error }
            throw DatabaseError(
                .outcomeUnknown,
                "the connection ended during COMMIT: \(error.message)",
                sqlState: error.sqlState
            )
        }
        defer { PQclear(result) }
        // The server answers COMMIT of a failed transaction with success and the tag ROLLBACK.
        guard let tag = PQcmdStatus(result), String(cString: tag) == "COMMIT" else {
            throw DatabaseError(
                .statement,
                "the transaction had failed and was rolled back",
                sqlState: "25P02"
            )
        }
    }

    // MARK: - State

    /// Whether the connection can carry another statement, as far as is known here.
    var isUsable: Bool { isOpen && givenUp == nil && PQstatus(handle) == CONNECTION_OK }

    /// Whether a transaction is open on the server.
    var isInTransaction: Bool { PQtransactionStatus(handle) != PQTRANS_IDLE }

    /// Reads what the server sent unasked, without waiting.
    ///
    /// - Returns: false when the connection has ended.
    func absorb() -> Bool {
        guard isUsable else { return false }
        guard ready(POLLIN, within: .zero) != 0 else { return true }
        // The first read takes a farewell message, the second one sees the end behind it.
        guard PQconsumeInput(handle) == 1, PQconsumeInput(handle) == 1 else { return false }
        return isUsable
    }

    /// Takes one notification that has arrived, if there is one.
    func nextNotification() -> Notification? {
        guard let notice = PQnotifies(handle) else { return nil }
        defer { PQfreemem(notice) }
        return Notification(
            channel: String(cString: notice.pointee.relname),
            payload: notice.pointee.extra.map { String(cString: $0) } ?? "",
            senderPID: notice.pointee.be_pid
        )
    }

    /// Quotes a name for use in a statement.
    static func quoted(_ name: String) -> String {
        "\""
            + name.split(separator: "\"", omittingEmptySubsequences: false)
            .joined(separator: "\"\"") + "\""
    }

    // MARK: - Details

    private func prepared(
        _ sql: String,
        _ types: [UInt32]
    ) throws(DatabaseError) -> StatementCache.Statement {
        if let statement = statements.find(sql, types) { return statement }
        if statements.isFull {
            try script("DEALLOCATE ALL")
            statements = StatementCache()
        }
        let name = statements.nextName()
        guard !sql.utf8.contains(0) else {
            throw DatabaseError(.statement, "a statement contains U+0000", sqlState: "22021")
        }
        guard PQsendPrepare(handle, name, sql, Int32(types.count), types) == 1 else {
            throw connectionError()
        }
        PQclear(try answer())
        return statements.insert(sql, types, name)
    }

    /// Sends what is buffered and collects the results of one request.
    ///
    /// - Returns: The last result, owned by the caller.
    /// - Throws: The first error among the results.
    private func answer() throws(DatabaseError) -> OpaquePointer {
        let deadline = Timestamps.monotonicNanoseconds() + answerTimeout.nanoseconds
        try flush(deadline)
        var last: OpaquePointer?
        var failure: DatabaseError?
        while true {
            try waitForResult(deadline)
            guard let result = PQgetResult(handle) else { break }
            if let last { PQclear(last) }
            last = result
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
            // COPY is not offered here, and its state would never end by itself.
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                PQclear(result)
                throw giveUp("COPY is not supported")
            default: failure = failure ?? error(of: result)
            }
        }
        guard failure == nil, let last else {
            if let last { PQclear(last) }
            throw failure ?? connectionError()
        }
        return last
    }

    private func flush(_ deadline: UInt64) throws(DatabaseError) {
        while true {
            let state = PQflush(handle)
            if state == 0 { return }
            guard state == 1 else { throw connectionError() }
            let events = try wait(POLLIN | POLLOUT, deadline)
            // The server may be unable to read on until we read what it says.
            if events & Int16(POLLIN) != 0, PQconsumeInput(handle) == 0 {
                throw connectionError()
            }
        }
    }

    private func waitForResult(_ deadline: UInt64) throws(DatabaseError) {
        while PQisBusy(handle) == 1 {
            _ = try wait(POLLIN, deadline)
            // A failure is told by the result that follows.
            if PQconsumeInput(handle) == 0 { return }
        }
    }

    private func wait(_ events: Int32, _ deadline: UInt64) throws(DatabaseError) -> Int16 {
        let now = Timestamps.monotonicNanoseconds()
        let rest = deadline > now ? deadline - now : 0
        let ready = ready(events, within: .nanoseconds(Int64(rest)))
        guard ready != 0 else { throw giveUp("the server did not answer in time") }
        return ready
    }

    /// Waits for the socket; errors and hang-ups count as readable, so that a read reports them.
    private func ready(_ events: Int32, within limit: Duration) -> Int16 {
        var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
        let count = poll(&descriptor, 1, Int32(clamping: (limit.nanoseconds + 999_999) / 1_000_000))
        guard count >= 0 else { return Int16(POLLIN) }
        let trouble = descriptor.revents & Int16(POLLERR | POLLHUP | POLLNVAL)
        return descriptor.revents | (trouble != 0 ? Int16(POLLIN) : 0)
    }

    private func giveUp(_ reason: String) -> DatabaseError {
        let error = DatabaseError(.connection, reason)
        givenUp = error
        return error
    }

    private func connectionError() -> DatabaseError {
        givenUp ?? DatabaseError(.connection, message(of: handle))
    }

    private func error(of result: OpaquePointer) -> DatabaseError {
        let message =
            field(PG_DIAG.message, of: result)
            ?? PQresultErrorMessage(result).map { trimmed(String(cString: $0)) } ?? ""
        let error = DatabaseError(
            isUsable ? .statement : .connection,
            message,
            sqlState: field(PG_DIAG.sqlState, of: result),
            constraint: field(PG_DIAG.constraint, of: result)
        )
        want.note(error)
        return error
    }
}

// MARK: - libpq

/// Fields of an error; the header has them as character macros, which Swift does not import.
private enum PG_DIAG {
    static let sqlState = Int32(UInt8(ascii: "C"))
    static let message = Int32(UInt8(ascii: "M"))
    static let constraint = Int32(UInt8(ascii: "n"))
}

private func field(_ code: Int32, of result: OpaquePointer) -> String? {
    PQresultErrorField(result, code).map { String(cString: $0) }
}

private func message(of handle: OpaquePointer?) -> String {
    let text = PQerrorMessage(handle).map { trimmed(String(cString: $0)) } ?? ""
    return text.isEmpty ? "the connection is closed" : text
}

private func trimmed(_ text: String) -> String {
    var text = text[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return text.split(whereSeparator: \.isNewline).joined(separator: "; ")
}

/// libpq prints notices to standard error unless told otherwise.
private func ignoreNotice(_ argument: UnsafeMutableRawPointer?, _ result: OpaquePointer?) {}

private func connect(_ configuration: DatabaseConfiguration) throws(DatabaseError) -> OpaquePointer
{
    // The URL comes last, so that what it says wins.
    let settings: [(String, String)] = [
        ("connect_timeout", String(max(2, configuration.connectTimeout.milliseconds / 1000))),
        ("fallback_application_name", configuration.applicationName),
        ("client_encoding", "UTF8"),
        // A peer that vanished without a word is noticed within 5 + 3 × 2 seconds.
        ("keepalives_idle", "5"),
        ("keepalives_interval", "2"),
        ("keepalives_count", "3"),
        ("tcp_user_timeout", "10000"),
        ("dbname", configuration.url),
    ]
    let keywords = settings.map { strdup($0.0) }
    let values = settings.map { strdup($0.1) }
    defer { for pointer in keywords + values { free(pointer) } }
    let handle = PQconnectdbParams(
        keywords.map { UnsafePointer($0) } + [nil],
        values.map { UnsafePointer($0) } + [nil],
        1
    )
    guard let handle else { throw DatabaseError(.connection, "out of memory") }
    guard PQstatus(handle) == CONNECTION_OK else {
        // What libpq says of a URL that it misreads may be a piece of the password.
        let text = URLFault.sentence(for: configuration.url) ?? message(of: handle)
        PQfinish(handle)
        throw DatabaseError(.connection, text)
    }
    return handle
}

private func sessionSettings(_ configuration: DatabaseConfiguration) -> String {
    var sql = "SET timezone = 'UTC'; "
    sql += "SET statement_timeout = \(configuration.statementTimeout.milliseconds); "
    // A client that froze inside a transaction must not keep its rows locked for ever.
    sql += "SET idle_in_transaction_session_timeout = 30000; "
    if let schema = configuration.schema {
        sql += "SET search_path = \(Connection.quoted(schema)); "
    }
    if let role = configuration.role { sql += "SET ROLE \(Connection.quoted(role)); " }
    return sql
}

extension Connection {
    /// Opens a connection on the calling thread, lends it and closes it; for tools and tests.
    ///
    /// - Parameters:
    ///   - configuration: Where the database is.
    ///   - body: The work; it must not keep the connection.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, or ``DatabaseError`` when no connection can be made.
    @discardableResult
    public static func open<Value>(
        _ configuration: DatabaseConfiguration,
        _ body: (Connection) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value {
        let connection = try Connection(configuration, generation: 1)
        defer { connection.close() }
        return try body(connection)
    }
}
