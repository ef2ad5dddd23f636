internal import Bus
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

    private let instance: String
    private let logger: Logger
    private let circumstances: @Sendable () -> Circumstances
    private let book: RideBook
    private let owners: OwnerBoard
    private let connection: DedicatedConnection
    private let writer: CoalescingWriter<RideWork, RideReply.Body>
    private let keeper: SlotKeeper
    private let publisher: EstimatePublisher
    private let undecodable: Counter

    /// Builds the parts; the writer connects at once, slots are taken by ``keepSlots()``.
    ///
    /// - Parameters:
    ///   - context: The surroundings.
    ///   - thresholds: The limits of freshness and agreement.
    ///   - circumstances: Schedule, trusted vehicles and clocks of the moment.
    init(
        _ context: ServiceContext,
        thresholds: Thresholds,
        circumstances: @escaping @Sendable () -> Circumstances
    ) {
        let bus = context.bus
        let instance = context.instance
        let book = RideBook()
        let owners = OwnerBoard(instance: instance, book: book) { bus.publish(topic: $0, body: $1) }
        // The connection and the keeper need each other: the keeper is told through this box.
        let lost = LossBox()
        let connection = DedicatedConnection(
            context.databaseConfiguration,
            name: "writer",
            logger: context.logger,
            metrics: context.metrics,
            lost: { _, _ in lost.call() }
        )
        let keeper = SlotKeeper(
            writer: connection,
            book: book,
            instance: instance,
            instances: {
                let others = bus.instances(of: ServiceNames.verifier)
                return others.contains(instance) ? others.count : others.count + 1
            },
            circumstances: circumstances,
            changed: { owners.publish() },
            logger: context.logger,
            metrics: context.metrics
        )
        lost.action.withLock { $0 = { keeper.connectionLost() } }
        let ledger = RideLedger(
            book: book,
            owner: { owners.owner(of: $0) },
            circumstances: circumstances
        )
        writer = CoalescingWriter(
            over: connection,
            name: "rides",
            batchLimit: Self.batchLimit,
            queueLimit: Self.queueLimit,
            metrics: context.metrics,
            commit: { connection, work throws(DatabaseError) in
                try ledger.commit(work, on: connection).map { .success($0) }
            },
            settled: { _, outcome in
                if case .committed = outcome { ledger.committed() } else { ledger.discarded() }
            }
        )
        publisher = EstimatePublisher(book: book, instance: instance, thresholds: thresholds) {
            bus.publish(topic: $0, key: $1, body: $2)
        }
        self.instance = instance
        self.circumstances = circumstances
        self.book = book
        self.owners = owners
        self.connection = connection
        self.keeper = keeper
        logger = context.logger
        undecodable = context.metrics.counter(
            "ride_requests_undecodable_total",
            help: "Requests on the bus that were not understood."
        )
        context.metrics.gauge("slots_owned_items", help: "Slots that this process owns.") {
            Double(book.ownedSlots.count)
        }
        context.metrics.gauge("rides_active_items", help: "Rides under way here.") {
            Double(book.rideCount)
        }
        let publisher = publisher
        context.metrics.gauge(
            "trips_published_items",
            help: "Trips whose position is published."
        ) { Double(publisher.publishableTrips) }
        context.readiness.check {
            // With more verifiers than needed one may own little; owning nothing means no work is done.
            book.ownedSlots.isEmpty ? .notReady("slots: none is owned yet") : .ready
        }
    }

    // MARK: - On the bus

    /// Answers a request; always with a message, so that the asker need not wait for its deadline.
    func answer(_ request: BusRequest) async -> [UInt8] {
        guard let message = try? RideRequest(decoding: request.body) else {
            undecodable.add()
            let failed = RideReply(
                requestID: .random(),
                trace: request.trace,
                body: .refused(RideRefusal(.invalid))
            )
            return failed.encoded()
        }
        return RideReply(to: message, await answer(message)).encoded()
    }

    private func answer(_ request: RideRequest) async -> RideReply.Body {
        switch request.body {
        case .start, .positions, .end, .supersede: await file(.request(request))
        case .tripStatus(let query): tripStatus(query)
        default: .refused(RideRefusal(.invalid))
        }
    }

    private func file(_ work: RideWork) async -> RideReply.Body {
        do {
            return try await writer.write(work)
        } catch let error as DatabaseError {
            guard error.kind == .statement, !error.isRetryable else {
                return .refused(.unavailable)
            }
            logger.error(
                "a request cannot be stored",
                [
                    "error": .text(error.description),
                    "ride.id": .text(work.rideID?.description ?? ""),
                ]
            )
            return .refused(RideRefusal(.failed))
        } catch {
            return .refused(.unavailable)
        }
    }

    private func tripStatus(_ query: TripStatusQuery) -> RideReply.Body {
        let slot = Slot(of: query.tripID)
        guard book.owns(slot) else {
            return .refused(
                RideRefusal(.notOwner, owner: owners.owner(of: slot) ?? "", retryAfterSeconds: 2)
            )
        }
        let now = circumstances()
        guard let index = now.index else {
            return .refused(RideRefusal(.scheduleUnavailable, retryAfterSeconds: 2))
        }
        guard let trip = index.trip(query.tripID) else {
            return .refused(RideRefusal(.unknownTrip))
        }
        let date = query.startDate ?? index.defaultStartDate(for: trip, at: now.now)
        let key = TripInstance(tripID: trip.id, startDate: date)
        let groups = TripGroup.groups(
            of: book.rides(in: slot).map(\.member),
            at: now.now,
            thresholds: now.thresholds
        )
        let status = TripStatus(
            of: key,
            in: groups,
            isCovered: now.trusted.covers(key, at: now.now, thresholds: now.thresholds),
            at: now.now,
            thresholds: now.thresholds
        )
        return .tripStatus(
            TripStatusReply(
                tripID: trip.id,
                startDate: date,
                trusted: status.trusted,
                riderReported: status.riderReported,
                riders: status.riders
            )
        )
    }

    /// Hears another verifier's slot table.
    func heard(_ publication: BusPublication) { owners.heard(publication) }

    // MARK: - Tickers

    /// Keeps this process's share of the slots until it is cancelled, then gives them back.
    func keepSlots() async throws {
        while !Task.isCancelled {
            do throws(DatabaseError) {
                try await keeper.step()
            } catch {
                logger.debug("slots wait for the database", ["error": .text(error.description)])
            }
            owners.publish()
            try? await Task.sleep(for: SlotKeeper.period)
        }
        // Others then take the slots at once; a failure leaves it to the end of the connection. The
        // task of its own does not see the cancellation.
        await Task { [keeper] in try? await keeper.releaseAll() }.value
    }

    /// Publishes estimates each second until it is cancelled.
    func publishEstimates() async throws {
        while !Task.isCancelled {
            publisher.tick(at: circumstances().now)
            try? await Task.sleep(for: Self.publishPeriod)
        }
    }

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
        for ride in book.allRides {
            let isDue =
                ride.unfiled != nil
                || ride.session.reapReason(at: now.now, thresholds: now.thresholds) != nil
            guard isDue else { continue }
            if case .refused(let refusal) = await file(.reap(ride.rideID)),
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

/// Who owns which slot, ours from the book and the others' from their tables.
final class OwnerBoard: Sendable {
    private let instance: String
    private let book: RideBook
    private let send: @Sendable (_ topic: String, _ body: [UInt8]) -> Void
    private let others = Mutex(SlotDirectory())
    private let sequence = Atomic<UInt64>(0)

    init(
        instance: String,
        book: RideBook,
        send: @escaping @Sendable (_ topic: String, _ body: [UInt8]) -> Void
    ) {
        self.instance = instance
        self.book = book
        self.send = send
    }

    func owner(of slot: Slot) -> String? {
        book.owns(slot) ? instance : others.withLock { $0.owner(of: slot) }
    }

    func heard(_ publication: BusPublication) {
        guard let table = try? SlotTable(decoding: publication.body) else { return }
        others.withLock { $0.merge(table) }
    }

    /// Says what we own; sent again and again because a lost table would leave phones waiting.
    func publish() {
        let entries = book.ownedSlots.map { SlotTable.Entry(slot: $0.key, epoch: $0.value) }
            .sorted { $0.slot < $1.slot }
        let table = SlotTable(
            instance: instance,
            sequence: sequence.wrappingAdd(1, ordering: .relaxed).newValue,
            slots: entries
        )
        send(BusTopics.slots, table.encoded())
    }
}

/// Passes the loss of the connection on to a part that is made after it.
private final class LossBox: Sendable {
    let action = Mutex<(@Sendable () -> Void)?>(nil)

    func call() { action.withLock { $0 }?() }
}
