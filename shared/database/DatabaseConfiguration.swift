/// Where a database is and how a process uses it.
public struct DatabaseConfiguration: Sendable {
    /// A libpq connection URL (`postgresql://…`), which may hold a password and is never logged.
    public var url: String
    /// The role to work as (`SET ROLE`), or nil for the one that logs in.
    public var role: String?
    /// The schema that unqualified names mean (`search_path`), or nil for the server's default.
    public var schema: String?
    /// The connections of a pool, each with a thread of its own.
    public var connections: Int
    /// What `pg_stat_activity` shows as `application_name`.
    public var applicationName: String
    /// The jobs that may wait for a connection; beyond it callers get ``DatabaseError/Kind/full``.
    ///
    /// At 0.5 ms a job on two connections, 1,024 are a quarter of a second of work: who would
    /// wait longer is better told at once.
    public var queueLimit: Int
    /// How long one statement may run on the server before it is cancelled (SQLSTATE 57014).
    public var statementTimeout: Duration
    /// How long to wait for an answer beyond ``statementTimeout`` before the connection is given up.
    ///
    /// The server cancels first while it lives; this bound is for a frozen or unreachable one.
    public var answerMargin: Duration
    /// How long an attempt to connect may take; libpq counts whole seconds and at least 2.
    public var connectTimeout: Duration
    /// How long `close()` lets running work go on before its connection is cut.
    public var closeTimeout: Duration
    /// Hears what the server lacks; every copy of this configuration shares it.
    public let want = ServerWant()

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - url: A libpq connection URL.
    ///   - role: The role to work as.
    ///   - schema: The schema that unqualified names mean.
    ///   - connections: The connections of a pool, at least 1.
    ///   - applicationName: What the server's activity view shows.
    ///   - queueLimit: The jobs that may wait.
    ///   - statementTimeout: How long one statement may run.
    ///   - answerMargin: How long to wait beyond that for an answer.
    ///   - connectTimeout: How long an attempt to connect may take.
    ///   - closeTimeout: How long `close()` waits for running work.
    public init(
        url: String,
        role: String? = nil,
        schema: String? = nil,
        connections: Int = 2,
        applicationName: String = "alongside",
        queueLimit: Int = 1024,
        statementTimeout: Duration = .seconds(10),
        answerMargin: Duration = .seconds(2),
        connectTimeout: Duration = .seconds(3),
        closeTimeout: Duration = .seconds(5)
    ) {
        self.url = url
        self.role = role
        self.schema = schema
        self.connections = connections
        self.applicationName = applicationName
        self.queueLimit = queueLimit
        self.statementTimeout = statementTimeout
        self.answerMargin = answerMargin
        self.connectTimeout = connectTimeout
        self.closeTimeout = closeTimeout
    }
}

extension Duration {
    /// Whole milliseconds, rounded down and never negative.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        return max(0, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
