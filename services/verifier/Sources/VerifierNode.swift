internal import Database
internal import Messages
internal import ServiceKit
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Verification

/// One verifier process: its slots, its writer, and what it says on the bus.
final class VerifierNode: Sendable {
    /// How often estimates are computed (the feed is built each second).
    static let publishPeriod = Duration.seconds(1)
    /// How often rides are looked at for idleness and age (spec 1.13).
    static let reapPeriod = Duration.seconds(30)
    /// Requests that may wait for the writer; beyond, callers are told to come again.
    static let queueLimit = 4096
    /// Requests in one transaction: enough to share a commit, few enough to keep it short.
    static let batchLimit = 256

    /// What a node needs of its process; tests hand in their own.
    struct Surroundings: Sendable {
        /// The process's name in the fleet.
        let instance: String
        /// For the writer's connection.
        let database: DatabaseConfiguration
        /// For what operators read and what must not hold up the writer.
        let pool: Database
        /// The limits of freshness and agreement.
        let thresholds: Thresholds
        /// Schedule, trusted vehicles and clocks of the moment.
        let circumstances: @Sendable () -> Circumstances
        /// The schedule in use, as the admin's status shows it.
        let schedule: @Sendable () -> VerifierStatusReply.Schedule?
        /// Sends the whole state of a topic's key to the other services.
        let publish: @Sendable (_ topic: String, _ key: String, _ body: [UInt8]) -> Void
        /// Asks another verifier; nil when it does not answer.
        let ask: @Sendable (_ body: RideRequest.Body, _ instance: String) async -> RideReply.Body?
        let logger: Logger
        let metrics: Metrics
    }

    let logger: Logger
    let circumstances: @Sendable () -> Circumstances
    let book = RideBook()
    let owners: OwnerBoard
    private let connection: DedicatedConnection
    let writer: CoalescingWriter<RideWork, RideReply.Body>
    private let keeper: SlotKeeper
    private let publisher: EstimatePublisher
    let erasure: RiderErasure
    let admin: AdminAnswers
    let undecodable: Counter
    let unheard: Counter

    /// Builds the parts; the writer connects at once, slots are taken by ``keepSlots()``.
    init(_ surroundings: Surroundings) {
        let metrics = surroundings.metrics
        let book = book
        let owners = OwnerBoard(
            instance: surroundings.instance,
            book: book,
            publish: surroundings.publish
        )
        // The connection, the keeper and the writer need each other: the keeper is told and files
        // through these boxes.
        let lost = LossBox()
        let filing = FilingBox()
        let connection = DedicatedConnection(
            surroundings.database,
            name: "writer",
            logger: surroundings.logger,
            metrics: metrics,
            lost: { _, _ in lost.call() }
        )
        let keeper = SlotKeeper(
            writer: connection,
            book: book,
            instance: surroundings.instance,
            circumstances: surroundings.circumstances,
            schedule: {
                surroundings.schedule().map {
                    ScheduleNote(hash: $0.contentHash, source: $0.source)
                }
            },
            file: { await filing.call($0) },
            changed: { owners.publish() },
            logger: surroundings.logger,
            metrics: metrics
        )
        lost.action.withLock { $0 = { keeper.connectionLost() } }
        let ledger = RideLedger(
            book: book,
            owner: { owners.owner(of: $0) },
            circumstances: surroundings.circumstances
        )
        let writer = CoalescingWriter<RideWork, RideReply.Body>(
            over: connection,
            name: "rides",
            batchLimit: Self.batchLimit,
            queueLimit: Self.queueLimit,
            metrics: metrics,
            commit: { connection, work throws(DatabaseError) in
                try ledger.commit(work, on: connection).map { .success($0) }
            },
            settled: { work, outcome in ledger.settled(work, outcome) }
        )
        publisher = EstimatePublisher(
            book: book,
            instance: surroundings.instance,
            thresholds: surroundings.thresholds,
            metrics: metrics,
            publish: surroundings.publish
        )
        self.writer = writer
        let logger = surroundings.logger
        filing.action.withLock { $0 = { _ = await Self.file(.reap($0), with: writer, logger) } }
        erasure = RiderErasure(
            pool: surroundings.pool,
            owns: { book.owns($0) },
            owner: { owners.owner(of: $0) },
            forget: { await Self.file(.forget($0), with: writer, logger) },
            ask: surroundings.ask,
            logger: logger
        )
        admin = AdminAnswers(
            instance: surroundings.instance,
            pool: surroundings.pool,
            book: book,
            circumstances: surroundings.circumstances,
            schedule: surroundings.schedule,
            logger: surroundings.logger
        )
        circumstances = surroundings.circumstances
        self.owners = owners
        self.connection = connection
        self.keeper = keeper
        self.logger = logger
        undecodable = metrics.counter(
            "ride_requests_undecodable_total",
            help: "Requests on the bus that were not understood or that ingest never sends."
        )
        unheard = metrics.counter(
            "publications_undecodable_total",
            help: "States on the bus that were not understood.",
            labels: ["topic": BusTopics.slots]
        )
        metrics.gauge("slots_owned_items", help: "Slots that this process owns.") {
            Double(book.ownedSlots.count)
        }
        metrics.gauge("rides_active_items", help: "Rides under way here.") {
            Double(book.rideCount)
        }
        for slot in Slot.all {
            metrics.gauge(
                "slot_epoch_number",
                help: "The epoch under which this process owns a slot; 0 where it does not.",
                labels: ["slot": slot.description]
            ) { Double(book.epoch(of: slot) ?? 0) }
        }
        let publisher = publisher
        metrics.gauge("trips_published_items", help: "Trips whose position is published.") {
            Double(publisher.publishableTrips)
        }
    }

    /// Whether this process does its share: it owns slots.
    var readiness: Readiness {
        book.ownedSlots.isEmpty ? .notReady("slots: none is owned yet") : .ready
    }

    // MARK: - Tickers

    /// Keeps this process's share of the slots until it is cancelled, then gives them back.
    func keepSlots() async throws {
        while !Task.isCancelled {
            await stepTowardsShare()
            try? await Task.sleep(for: SlotKeeper.period)
        }
        // Others then take the slots at once; a failure leaves it to the end of the connection. The
        // task of its own does not see the cancellation.
        await Task { [keeper] in try? await keeper.releaseAll() }.value
    }

    /// One look at the share of slots, and one step towards it.
    func stepTowardsShare() async {
        do throws(DatabaseError) {
            try await keeper.step()
        } catch {
            logger.debug("slots wait for the database", ["error": .text(error.description)])
        }
        owners.publish()
    }

    /// Publishes estimates each second until it is cancelled.
    func publishEstimates() async throws {
        while !Task.isCancelled {
            publishOnce()
            try? await Task.sleep(for: Self.publishPeriod)
        }
    }

    /// Computes the estimates of this moment and sends what is new.
    func publishOnce() { publisher.tick(at: circumstances().now) }

    /// Ends rides that are idle, too long or ended without being filed, until it is cancelled.
    func reap() async throws {
        while !Task.isCancelled {
            await reapOnce()
            try? await Task.sleep(for: Self.reapPeriod)
        }
    }

    /// One round of the reaper.
    func reapOnce() async {
        let now = circumstances()
        book.forgetUnfiled(startedBefore: now.now - now.thresholds.maxRideSeconds)
        for ride in book.allRides {
            let isDue =
                ride.unfiled != nil
                || ride.session.reapReason(at: now.now, thresholds: now.thresholds) != nil
            guard isDue else { continue }
            let answer = await Self.file(.reap(ride.rideID), with: writer, logger)
            if case .refused(let refusal) = answer,
                refusal.code == .unavailable
            {
                // The database is away; the next round tries again.
                return
            }
        }
    }

    /// Ends the writer's connection, and with it every lock.
    func close() async { await connection.close() }
}
