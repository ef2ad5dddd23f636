public import Database
internal import Synchronization
public import Telemetry

/// Instances as rows of `bus.instances`, with heartbeats by the database's clock.
///
/// Changes are told by NOTIFY, so that a new instance is known at once; without a notification the
/// bus asks again within a second. While the database is away the calls fail and the bus keeps the
/// instances it knows; when it is back they get the time to say that they still live.
public final class PostgresDirectory: InstanceDirectory {
    /// An instance without a heartbeat for this long is not listed (architecture, section 5).
    public static let silenceSeconds = 4.0
    /// A row without a heartbeat for this long is removed by whoever comes by.
    static let forgetSeconds = 86_400.0
    private static let channel = "bus_instances"

    private let database: Database
    private let listener: NotificationListener
    private let changed: ChangeBox
    private let announced = Mutex<InstanceRecord?>(nil)
    private let liveness = Mutex(InstanceLiveness())

    /// Makes a directory; its listener connects in the background.
    ///
    /// - Parameters:
    ///   - database: A pool whose role may use the schema `bus`.
    ///   - configuration: For the listener's own connection.
    ///   - logger: Hears of lost and new connections.
    ///   - metrics: Counts lost connections.
    public init(
        _ database: Database,
        listening configuration: DatabaseConfiguration,
        logger: Logger = .silent,
        metrics: Metrics = Metrics()
    ) {
        let changed = ChangeBox()
        self.database = database
        self.changed = changed
        listener = NotificationListener(
            configuration,
            channels: [Self.channel],
            name: "directory",
            logger: logger,
            metrics: metrics,
            connected: { _ in changed.call() },
            receive: { _ in changed.call() }
        )
    }

    /// Writes or refreshes the row, and tells others when it is new or changed.
    public func announce(_ record: InstanceRecord) async throws {
        let isNews = announced.withLock { $0 != record }
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO bus.instances (instance, service, request_endpoint,
                    publish_endpoint, pid, heartbeat_at)
                VALUES ($1, $2, $3, $4, $5, clock_timestamp())
                ON CONFLICT (instance) DO UPDATE SET service = excluded.service,
                    request_endpoint = excluded.request_endpoint,
                    publish_endpoint = excluded.publish_endpoint, pid = excluded.pid,
                    heartbeat_at = excluded.heartbeat_at
                """,
                [
                    .text(record.instance), .text(record.service), .text(record.requestEndpoint),
                    .text(record.publishEndpoint), .int(Int(record.pid)),
                ]
            )
            guard isNews else { return }
            try connection.execute(
                """
                DELETE FROM bus.instances
                WHERE heartbeat_at < clock_timestamp() - make_interval(secs => $1)
                """,
                [.double(Self.forgetSeconds)]
            )
            try connection.query(
                "SELECT pg_notify($1, $2)",
                [.text(Self.channel), .text(record.instance)]
            )
        }
        announced.withLock { $0 = record }
    }

    /// Removes the row and tells others.
    public func withdraw(_ record: InstanceRecord) async throws {
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                "DELETE FROM bus.instances WHERE instance = $1 AND pid = $2",
                [.text(record.instance), .int(Int(record.pid))]
            )
            try connection.query(
                "SELECT pg_notify($1, $2)",
                [.text(Self.channel), .text(record.instance)]
            )
        }
        await listener.close()
    }

    /// The instances with a recent heartbeat.
    public func instances() async throws -> [InstanceRecord] {
        let rows = try await database.withConnection { connection throws(DatabaseError) in
            let rows = try connection.query(
                """
                SELECT service, instance, request_endpoint, publish_endpoint, pid,
                    extract(epoch FROM clock_timestamp() - heartbeat_at)::float8 AS silence
                FROM bus.instances
                WHERE heartbeat_at > clock_timestamp() - make_interval(secs => $1)
                ORDER BY instance
                """,
                [.double(Self.forgetSeconds)]
            )
            var instances: [InstanceLiveness.Heartbeat] = []
            for row in rows {
                let record = InstanceRecord(
                    service: try row.text("service"),
                    instance: try row.text("instance"),
                    requestEndpoint: try row.text("request_endpoint"),
                    publishEndpoint: try row.text("publish_endpoint"),
                    pid: Int32(truncatingIfNeeded: try row.int("pid"))
                )
                instances.append((record, try row.double("silence")))
            }
            return instances
        }
        return liveness.withLock { $0.living(rows, now: Timestamps.monotonicNanoseconds()) }
    }

    /// Keeps the callback; it is called for each notification and after each reconnection.
    public func observe(_ changed: @escaping @Sendable () -> Void) { self.changed.set(changed) }
}

/// Holds the callback that comes after the listener was made.
private final class ChangeBox: Sendable {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    func set(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

    func call() { action.withLock { $0 }?() }
}
