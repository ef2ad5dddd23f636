internal import Database
internal import Messages
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Verification

/// Takes, keeps and gives back slots: locks on the writer's own connection.
///
/// What a lock promises: while the connection lives nobody else owns the slot, and when it dies its
/// open transaction dies with it. So there is no lease to outlive and no second writer.
final class SlotKeeper: Sendable {
    /// How often the share is looked at.
    static let period = Duration.milliseconds(500)
    /// An owner without a heartbeat for this long is cut off (architecture, section 5).
    static let silenceSeconds = 4.0

    private let writer: DedicatedConnection
    private let book: RideBook
    private let instance: String
    private let instances: @Sendable () -> Int
    private let circumstances: @Sendable () -> Circumstances
    private let changed: @Sendable () -> Void
    private let logger: Logger
    private let acquired: Counter
    private let released: Counter
    private let fenced: Counter
    private let unresumed: Counter

    /// Makes a keeper.
    ///
    /// - Parameters:
    ///   - writer: The connection that commits rides and holds the locks.
    ///   - book: Gets the rides of acquired slots.
    ///   - instance: The name under which this process is known.
    ///   - instances: How many verifiers live, this one included.
    ///   - circumstances: Schedule and clocks, to bring rides back to life.
    ///   - changed: Called after each change of what is owned.
    ///   - logger: Hears of changes of state.
    ///   - metrics: Counts them.
    init(
        writer: DedicatedConnection,
        book: RideBook,
        instance: String,
        instances: @escaping @Sendable () -> Int,
        circumstances: @escaping @Sendable () -> Circumstances,
        changed: @escaping @Sendable () -> Void,
        logger: Logger,
        metrics: Metrics
    ) {
        self.writer = writer
        self.book = book
        self.instance = instance
        self.instances = instances
        self.circumstances = circumstances
        self.changed = changed
        self.logger = logger
        acquired = metrics.counter("slots_acquired_total", help: "Slots taken over.")
        released = metrics.counter("slots_released_total", help: "Slots given back or lost.")
        fenced = metrics.counter("slot_owners_fenced_total", help: "Silent owners cut off.")
        unresumed = metrics.counter(
            "rides_not_resumed_total",
            help: "Rides ended as server_restart because they could not go on."
        )
    }

    /// Looks at the share once and takes one step towards it.
    ///
    /// - Throws: ``DatabaseError`` when the database is away; what was owned is then forgotten by
    ///   ``connectionLost()``.
    func step() async throws(DatabaseError) {
        switch SlotBalance.next(owned: book.ownedSlots.count, instances: max(1, instances())) {
        case .keep: break
        case .release: try await release(1)
        case .acquire(let limit):
            let taken = try await acquire(limit)
            // Whoever holds the rest may be frozen: its connection lives, its heartbeat does not.
            if taken < limit { try await fenceSilentOwners() }
        }
    }

    /// Gives everything back, for a stop in order.
    func releaseAll() async throws(DatabaseError) { try await release(SlotBalance.slotCount) }

    /// Forgets all slots; the locks went with the connection.
    func connectionLost() {
        let slots = book.releaseAll()
        guard !slots.isEmpty else { return }
        released.add(slots.count)
        logger.warning("slots lost with the connection", ["slots.count": .integer(slots.count)])
        changed()
    }

    private func acquire(_ limit: Int) async throws(DatabaseError) -> Int {
        let order = SlotBalance.order(for: instance, except: Set(book.ownedSlots.keys))
        let circumstances = circumstances
        let book = book
        let instance = instance
        let result = try await writer.run { connection throws(DatabaseError) -> (Int, Int, Int) in
            try RideStore.noteOwner(instance, on: connection)
            let keys = try AdvisoryLock.tryLock(
                .slot,
                keys: order.map { Int32($0.rawValue) },
                limit: limit,
                on: connection
            )
            guard !keys.isEmpty else { return (0, 0, 0) }
            let slots = keys.map { Slot(UInt8(truncatingIfNeeded: $0)) }
            let epochs = try RideStore.epochs(slots.count, on: connection)
            let rows = try RideStore.activeRides(in: slots, on: connection)
            let now = circumstances()
            // Without a schedule no ride can be told from one that cannot go on: the caller waits.
            guard let index = now.index else {
                throw DatabaseError(.statement, "there is no schedule yet")
            }
            var rides: [Slot: [ActiveRide]] = [:]
            var ended: [UniqueID] = []
            for row in rows {
                let ride = row.resumed(on: index, at: now.now, thresholds: now.thresholds)
                if let ride {
                    rides[ride.slot, default: []].append(ride)
                } else {
                    ended.append(row.rideID)
                }
            }
            try RideStore.endWithoutScore(ended, at: now.now, on: connection)
            for (slot, epoch) in zip(slots, epochs) {
                book.acquire(slot, epoch: epoch, rides: rides[slot] ?? [])
            }
            return (slots.count, rows.count - ended.count, ended.count)
        }
        guard result.0 > 0 else { return 0 }
        acquired.add(result.0)
        unresumed.add(result.2)
        logger.info(
            "slots acquired",
            [
                "slots.count": .integer(result.0), "rides.resumed": .integer(result.1),
                "rides.not_resumed": .integer(result.2),
            ]
        )
        changed()
        return result.0
    }

    private func release(_ limit: Int) async throws(DatabaseError) {
        // The emptiest first: fewer phones wait for the new owner.
        let book = book
        let slots = book.ownedSlots.keys
            .map { (slot: $0, rides: book.rides(in: $0).count) }
            .sorted { ($0.rides, $0.slot) < ($1.rides, $1.slot) }
            .prefix(limit).map(\.slot)
        guard !slots.isEmpty else { return }
        try await writer.run { connection throws(DatabaseError) in
            // Forgotten before the lock goes, so that two never answer for one slot.
            book.release(slots)
            for slot in slots {
                try AdvisoryLock(class: .slot, key: Int32(slot.rawValue)).unlock(on: connection)
            }
        }
        released.add(slots.count)
        logger.info("slots released", ["slots.count": .integer(slots.count)])
        changed()
    }

    private func fenceSilentOwners() async throws(DatabaseError) {
        let count = try await writer.run { connection throws(DatabaseError) in
            let holders = Set(try AdvisoryLock.holders(of: .slot, on: connection).values)
                .subtracting([connection.backendPID])
            // A session is noted before it takes its first lock, so every holder is in the table.
            let rows = try connection.query(
                """
                SELECT o.backend_pid FROM verifier.slot_owners o
                WHERE o.backend_pid = ANY ($1::int[]) AND NOT EXISTS (
                    SELECT 1 FROM bus.instances i WHERE i.instance = o.instance
                        AND i.heartbeat_at > clock_timestamp() - make_interval(secs => $2))
                """,
                [.intArray(holders.map { Int64($0) }), .double(Self.silenceSeconds)]
            )
            var count = 0
            for row in rows where try AdvisoryLock.fence(Int32(try row.int(0)), on: connection) {
                count += 1
            }
            return count
        }
        guard count > 0 else { return }
        fenced.add(count)
        logger.warning("silent slot owners cut off", ["owners.count": .integer(count)])
    }
}
