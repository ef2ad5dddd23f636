internal import Database
internal import Synchronization
internal import Telemetry

/// Who builds the feed: whoever holds one advisory lock.
///
/// While the session that holds it lives nobody else builds. A builder whose process is frozen holds it
/// still, so the others cut off a holder that gave no sign of life for ``silenceSeconds``. Losing the
/// database does not stop a builder, as nobody else could take over either; a higher epoch does.
final class BuilderLock: Sendable {
    /// How often the lock is looked at.
    static let period = Duration.milliseconds(500)
    /// A builder without a heartbeat for this long is cut off (architecture, section 5).
    static let silenceSeconds = 4.0

    private struct State {
        /// The epoch under which this process builds; nil while another does.
        var epoch: UInt64?
        /// The session that holds the lock.
        var generation = 0
        /// When the database last answered, in monotonic nanoseconds.
        var answeredAt = Timestamps.monotonicNanoseconds()
        /// The highest epoch heard of.
        var newestHeard: UInt64 = 0
    }

    private let connection: DedicatedConnection
    private let instance: String
    private let logger: Logger
    private let fenced: Counter
    private let state = Mutex(State())

    /// Makes a lock that nobody here holds yet.
    ///
    /// - Parameters:
    ///   - database: For the connection that holds the lock.
    ///   - instance: The name under which this process gives its signs of life.
    ///   - logger: Hears of changes of state.
    ///   - metrics: Shows the epoch and counts holders that were cut off.
    init(
        database: DatabaseConfiguration,
        instance: String,
        logger: Logger,
        metrics: Metrics
    ) {
        connection = DedicatedConnection(
            database,
            name: "builder",
            logger: logger,
            metrics: metrics
        )
        self.instance = instance
        self.logger = logger
        fenced = metrics.counter(
            "feed_builders_fenced_total",
            help: "Silent builders cut off from their lock."
        )
        metrics.gauge(
            "feed_builder_epoch_number",
            help: "The epoch under which this process builds the feed; 0 while another does."
        ) { [weak self] in Double(self?.epoch ?? 0) }
    }

    /// The epoch under which this process builds; nil while another does.
    var epoch: UInt64? { state.withLock { $0.epoch } }

    /// When the database last answered, in monotonic nanoseconds; at first when this was made.
    var answeredAt: UInt64 { state.withLock { $0.answeredAt } }

    /// Hears of another builder's epoch; a higher one than ours ends our turn.
    func heard(epoch: UInt64) {
        let wasBuilding = state.withLock { state in
            state.newestHeard = max(state.newestHeard, epoch)
            guard let own = state.epoch, own < epoch else { return false }
            state.epoch = nil
            return true
        }
        if wasBuilding { logger.warning("another process builds the feed now") }
    }

    /// Looks once, and takes the lock when it is free.
    ///
    /// - Throws: ``DatabaseError`` when the database is away; who built goes on.
    func step() async throws(DatabaseError) {
        let instance = instance
        let held = state.withLock { $0.epoch == nil ? 0 : $0.generation }
        let taken = try await connection.run {
            connection throws(DatabaseError) -> (epoch: UInt64?, generation: Int, cutOff: Bool)? in
            // The lock that this very session holds is not taken twice.
            if held == connection.generation {
                // A session that was cut off does not know it before it is used.
                _ = try connection.query("SELECT 1")
                return nil
            }
            let silent = try BuilderStore.silentHolder(
                besides: instance,
                silence: Self.silenceSeconds,
                on: connection
            )
            var cutOff = false
            if let silent { cutOff = try AdvisoryLock.fence(silent, on: connection) }
            let lock = AdvisoryLock(class: .feedBuilder, key: 0)
            guard try lock.tryLock(on: connection) else {
                return (nil, connection.generation, cutOff)
            }
            do throws(DatabaseError) {
                let epoch = try BuilderStore.enter(instance, on: connection)
                return (epoch, connection.generation, cutOff)
            } catch {
                // Held without its row it would keep everybody from building, and nobody could tell whom.
                _ = try? lock.unlock(on: connection)
                throw error
            }
        }
        state.withLock { $0.answeredAt = Timestamps.monotonicNanoseconds() }
        guard let taken else { return }
        if taken.cutOff {
            fenced.add()
            logger.warning("a silent builder was cut off")
        }
        settle(taken.epoch, taken.generation)
    }

    /// Takes in that the lock was taken, or that another session holds it.
    private func settle(_ epoch: UInt64?, _ generation: Int) {
        let change = state.withLock { state in
            let before = state.epoch
            state.epoch = epoch
            state.generation = generation
            return (before, epoch)
        }
        switch change {
        case (nil, let epoch?):
            logger.info("builds the feed now", ["builder.epoch": .integer(Int(clamping: epoch))])
        case (.some, nil): logger.warning("another process builds the feed now")
        default: break
        }
    }

    /// Gives the lock back with the session that holds it.
    func close() async { await connection.close() }
}

/// What the database knows of builders.
private enum BuilderStore {
    /// The session of a holder whose process gives no sign of life.
    ///
    /// After an outage of the database every heartbeat is old; who sees its own is right to judge others.
    static func silentHolder(
        besides instance: String,
        silence: Double,
        on connection: Connection
    ) throws(DatabaseError) -> Int32? {
        let holders = try AdvisoryLock.holders(of: .feedBuilder, on: connection)
        guard let holder = holders[0], holder != connection.backendPID else { return nil }
        let rows = try connection.query(
            """
            SELECT b.instance = $2 OR (
                NOT EXISTS (SELECT FROM bus.instances i WHERE i.instance = b.instance
                    AND i.heartbeat_at > clock_timestamp() - make_interval(secs => $3))
                AND EXISTS (SELECT FROM bus.instances i WHERE i.instance = $2
                    AND i.heartbeat_at > clock_timestamp() - make_interval(secs => 1.5))
                AND b.seen_at < clock_timestamp() - make_interval(secs => $3)) AS is_silent
            FROM feed.builders b WHERE b.backend_pid = $1
            """,
            [.int(Int(holder)), .text(instance), .double(silence)]
        )
        for row in rows where try row.bool("is_silent") { return holder }
        return nil
    }

    /// Says which process holds the lock, and draws its epoch.
    static func enter(
        _ instance: String,
        on connection: Connection
    ) throws(DatabaseError) -> UInt64 {
        try connection.execute(
            """
            INSERT INTO feed.builders (backend_pid, instance, seen_at)
            VALUES ($1, $2, clock_timestamp())
            ON CONFLICT (backend_pid) DO UPDATE
                SET instance = excluded.instance, seen_at = excluded.seen_at
            """,
            [.int(Int(connection.backendPID)), .text(instance)]
        )
        return try AdvisoryLock.nextEpoch(from: "feed.builder_epoch", on: connection)
    }
}
