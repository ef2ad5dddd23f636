internal import Database
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Verification

/// Takes, keeps and gives back slots: locks on the writer's own connection.
///
/// What a lock promises: while the connection lives nobody else owns the slot, and when it dies its
/// open transaction dies with it. So there is no lease to outlive and no second writer. Who the
/// others are is read from the sessions too: those of a crashed verifier are gone at once.
final class SlotKeeper: Sendable {
    /// How often the share is looked at: a small part of the second that phones may notice of a crash.
    static let period = Duration.milliseconds(125)
    /// An owner without a heartbeat for this long is cut off (architecture, section 5).
    static let silenceSeconds = 4.0

    private let writer: DedicatedConnection
    private let book: RideBook
    private let instance: String
    private let circumstances: @Sendable () -> Circumstances
    private let schedule: @Sendable () -> ScheduleNote?
    private let file: @Sendable (_ ride: UniqueID) async -> Void
    private let changed: @Sendable () -> Void
    /// The session and when it was first used, in monotonic seconds.
    private let session = Mutex((generation: 0, since: 0.0))
    private let plan = Mutex(ReleasePlan())
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
    ///   - circumstances: Schedule and clocks, to bring rides back to life.
    ///   - schedule: The schedule in use, for operators.
    ///   - file: Stores the end of a ride that was decided and not stored, if it can.
    ///   - changed: Called after each change of what is owned.
    ///   - logger: Hears of changes of state.
    ///   - metrics: Counts them.
    init(
        writer: DedicatedConnection,
        book: RideBook,
        instance: String,
        circumstances: @escaping @Sendable () -> Circumstances,
        schedule: @escaping @Sendable () -> ScheduleNote?,
        file: @escaping @Sendable (_ ride: UniqueID) async -> Void,
        changed: @escaping @Sendable () -> Void,
        logger: Logger,
        metrics: Metrics
    ) {
        self.writer = writer
        self.book = book
        self.instance = instance
        self.circumstances = circumstances
        self.schedule = schedule
        self.file = file
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

    /// Looks at the fleet once and takes one step towards this process's share.
    ///
    /// - Throws: ``DatabaseError`` when the database is away; what was owned is then forgotten by
    ///   ``connectionLost()``.
    func step() async throws(DatabaseError) {
        let fleet = try await look()
        switch fleet.next(owned: book.ownedSlots.count, of: instance) {
        case .keep: break
        case .release(let surplus):
            let slots = plan.withLock { $0.next(surplus, of: book.ridesBySlot) }
            try await release(slots, isLast: false)
        case .acquire(let limit): try await acquire(limit)
        }
    }

    /// Gives everything back, for a stop in order.
    func releaseAll() async throws(DatabaseError) {
        try await release(book.ownedSlots.keys.sorted(), isLast: true)
    }

    /// Forgets all slots; the locks went with the connection.
    func connectionLost() {
        let slots = book.releaseAll()
        guard !slots.isEmpty else { return }
        released.add(slots.count)
        logger.warning("slots lost with the connection", ["slots.count": .integer(slots.count)])
        changed()
    }

    // MARK: - The fleet

    /// Says that we live, sees who else does, and cuts off who is silent.
    private func look() async throws(DatabaseError) -> Fleet {
        let instance = instance
        let (fleet, cutOff, failure) = try await writer.run { connection throws(DatabaseError) in
            let fleet = Fleet(
                try FleetStore.sessions(
                    enteringAs: instance,
                    schedule: self.schedule(),
                    silence: Self.silenceSeconds,
                    on: connection
                ),
                seenFrom: connection.backendPID,
                of: instance,
                isSettled: self.isSettled(connection)
            )
            var count = 0
            do throws(DatabaseError) {
                for session in fleet.silent where try AdvisoryLock.fence(session, on: connection) {
                    count += 1
                }
                return (fleet, count, nil as DatabaseError?)
            } catch {
                return (fleet, count, error)
            }
        }
        if cutOff > 0 {
            fenced.add(cutOff)
            logger.warning("silent slot owners cut off", ["owners.count": .integer(cutOff)])
        }
        if let failure {
            // Their slots stay theirs; ours are kept all the same.
            logger.error(
                "silent slot owners cannot be cut off",
                ["error": .text(failure.description)]
            )
        }
        return fleet
    }

    /// Whether a session is older than a heartbeat may be.
    private func isSettled(_ connection: Connection) -> Bool {
        let uptime = circumstances().uptime
        return session.withLock { session in
            if session.generation != connection.generation {
                session = (connection.generation, uptime)
            }
            return uptime - session.since >= Self.silenceSeconds
        }
    }

    // MARK: - Slots

    /// What became of the rides of acquired slots.
    private struct Takeover {
        var slots = 0
        var resumed = 0
        var ended = 0
    }

    private func acquire(_ limit: Int) async throws(DatabaseError) {
        let order = SlotBalance.order(for: instance, except: Set(book.ownedSlots.keys))
        let takeover = try await writer.run { connection throws(DatabaseError) in
            let circumstances = self.circumstances()
            // Without a schedule no ride can be told from one that cannot go on: the slots wait.
            guard let index = circumstances.index else { return Takeover() }
            let keys = try AdvisoryLock.tryLock(
                .slot,
                keys: order.map { Int32($0.rawValue) },
                limit: limit,
                on: connection
            )
            do throws(DatabaseError) {
                return try self.takeOver(keys, index, circumstances, on: connection)
            } catch {
                // A lock without its rides would keep the slot from everybody; and taken again, it
                // would have to be given back twice.
                for key in keys {
                    _ = try? AdvisoryLock(class: .slot, key: key).unlock(on: connection)
                }
                throw error
            }
        }
        guard takeover.slots > 0 else { return }
        acquired.add(takeover.slots)
        unresumed.add(takeover.ended)
        logger.info(
            "slots acquired",
            [
                "slots.count": .integer(takeover.slots),
                "rides.resumed": .integer(takeover.resumed),
                "rides.not_resumed": .integer(takeover.ended),
            ]
        )
        changed()
    }

    /// Brings the rides of locked slots back to life, then answers for them.
    private func takeOver(
        _ keys: [Int32],
        _ index: ScheduleIndex,
        _ circumstances: Circumstances,
        on connection: Connection
    ) throws(DatabaseError) -> Takeover {
        guard !keys.isEmpty else { return Takeover() }
        let slots = keys.map { Slot(UInt8(truncatingIfNeeded: $0)) }
        // In one transaction, as each is flushed to the disk: phones wait for it.
        let epochs = try connection.transaction { () throws(DatabaseError) in
            let epochs = try RideStore.epochs(slots.count, on: connection)
            try FleetStore.note(slots, epochs: epochs, of: self.instance, on: connection)
            return epochs
        }
        var takeover = Takeover(slots: slots.count)
        var rides: [Slot: [ActiveRide]] = [:]
        var ended: [UniqueID] = []
        for row in try RideStore.activeRides(in: slots, on: connection) {
            let ride = row.resumed(
                on: index,
                at: circumstances.now,
                thresholds: circumstances.thresholds
            )
            if let ride {
                rides[ride.slot, default: []].append(ride)
                takeover.resumed += 1
            } else {
                ended.append(row.rideID)
            }
        }
        try RideStore.endWithoutScore(ended, at: circumstances.now, on: connection)
        takeover.ended = ended.count
        for (slot, epoch) in zip(slots, epochs) {
            book.acquire(slot, epoch: epoch, rides: rides[slot] ?? [])
        }
        return takeover
    }

    /// Gives slots back.
    ///
    /// - Parameters:
    ///   - slots: Which.
    ///   - isLast: Whether this process ends; else a slot stays in which an end cannot be stored yet,
    ///     as the next owner reads rows and would go on with that ride.
    /// - Throws: ``DatabaseError`` when the database is away.
    private func release(_ slots: [Slot], isLast: Bool) async throws(DatabaseError) {
        let book = book
        for ride in book.unfiledRides(in: slots) { await file(ride) }
        let held = isLast ? [] : Set(book.unfiledRides(in: slots).map(\.slot))
        let slots = slots.filter { !held.contains($0) }
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
}
