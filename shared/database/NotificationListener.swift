public import Telemetry

/// Hears `NOTIFY` on a connection and thread of its own, also after the connection was lost.
///
/// PostgreSQL keeps nothing for listeners that are away. So `connected` is called after LISTEN at
/// each new session: whoever keeps state from notifications reads it anew there, and misses nothing.
public final class NotificationListener: Sendable {
    private let connection: DedicatedConnection

    /// Starts to listen in the background.
    ///
    /// The closures run on the listener's thread, in order: they hand over and return.
    ///
    /// - Parameters:
    ///   - configuration: Where the database is; not behind a transaction-mode pooler.
    ///   - channels: The channels to hear.
    ///   - name: What logs and metrics call it.
    ///   - logger: Hears of lost and new connections.
    ///   - metrics: Counts lost connections.
    ///   - connected: Called after LISTEN at each new session, to read what was missed; when it
    ///     throws, the session is given up and made again.
    ///   - receive: Called with each notification.
    public init(
        _ configuration: DatabaseConfiguration,
        channels: [String],
        name: String = "listener",
        logger: Logger = .silent,
        metrics: Metrics = Metrics(),
        connected: @escaping @Sendable (Connection) throws(DatabaseError) -> Void = { _ in },
        receive: @escaping @Sendable (Notification) -> Void
    ) {
        let listen = channels.map { "LISTEN \(Connection.quoted($0))" }.joined(separator: "; ")
        connection = DedicatedConnection(
            configuration,
            name: name,
            logger: logger,
            metrics: metrics,
            connected: { connection throws(DatabaseError) in
                try connection.script(listen)
                try connected(connection)
            },
            notified: receive
        )
    }

    /// Whether a session listens, as far as is known.
    public var isConnected: Bool { connection.isConnected }

    /// The server process that serves the listener.
    ///
    /// - Returns: Its process id.
    /// - Throws: ``DatabaseError`` when there is no session.
    public func backendPID() async throws(DatabaseError) -> Int32 {
        try await connection.run { connection in connection.backendPID }
    }

    /// Stops listening and returns when the thread has ended.
    public func close() async { await connection.close() }
}
