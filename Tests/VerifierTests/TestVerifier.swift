import Database
import Messages
import Synchronization
import Telemetry
import Testing
import Transit

@testable import VerifierService

/// One verifier of a test, with what it published.
final class TestVerifier: Sendable {
    let node: VerifierNode
    let metrics = Metrics()
    private let published: Publications
    private let pool: Database

    /// The verifiers that one can ask by their names.
    final class Peers: Sendable {
        let all = Mutex<[String: TestVerifier]>([:])

        func ask(_ body: RideRequest.Body, _ instance: String) async -> RideReply.Body? {
            await all.withLock { $0[instance] }?.ask(body)
        }
    }

    /// What went out on the bus.
    final class Publications: Sendable {
        let all = Mutex<[(topic: String, key: String, body: [UInt8])]>([])
    }

    init(
        _ instance: String,
        _ database: DatabaseConfiguration,
        peers: Peers = Peers(),
        _ circumstances: @escaping @Sendable () -> Circumstances
    ) {
        let published = Publications()
        self.published = published
        let pool = Database(database)
        self.pool = pool
        node = VerifierNode(
            VerifierNode.Surroundings(
                instance: instance,
                database: database,
                pool: pool,
                thresholds: circumstances().thresholds,
                circumstances: circumstances,
                schedule: { Self.schedule },
                publish: { topic, key, body in
                    published.all.withLock { $0.append((topic, key, body)) }
                },
                ask: { await peers.ask($0, $1) },
                logger: .silent,
                metrics: metrics
            )
        )
    }

    /// What the admin's status says of the schedule.
    static let schedule = VerifierStatusReply.Schedule(
        source: "course.zip",
        contentHash: "00ff",
        loadedAt: Course.start,
        trips: 3,
        shapes: 1,
        timeZone: "Etc/UTC"
    )

    /// Ends its connections, as a crash would.
    func close() async {
        await node.close()
        await pool.close()
    }

    /// Hands a message in as the bus does.
    func answer(_ body: [UInt8]) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            node.answer(body, trace: .random()) { continuation.resume(returning: $0) }
        }
    }

    // MARK: - What riders ask

    func ask(
        _ body: RideRequest.Body,
        requestID: UniqueID = .random()
    ) async -> RideReply.Body {
        await node.answer(RideRequest(requestID: requestID, trace: .random(), body: body))
    }

    func start(
        _ rider: Rider,
        startDate: ServiceDate? = nil,
        routeID: RouteID? = nil,
        destination: String = "",
        vehicleID: String = ""
    ) async -> RideReply.Body {
        await ask(
            .start(
                StartRide(
                    rideID: rider.ride,
                    riderID: rider.id,
                    tripID: rider.trip,
                    startDate: startDate,
                    routeID: routeID,
                    vehicleID: vehicleID,
                    destinationStopID: destination,
                    receivedAt: Course.start
                )
            )
        )
    }

    func report(_ rider: Rider, _ points: [ReportedPoint]) async -> RideReply.Body {
        await ask(
            .positions(
                ReportPositions(
                    rideID: rider.ride,
                    riderID: rider.id,
                    points: points,
                    receivedAt: Course.start
                )
            )
        )
    }

    func end(
        _ rider: Rider,
        _ reason: String = "arrived",
        requestID: UniqueID = .random()
    ) async -> RideReply.Body {
        await ask(
            .end(
                EndRide(
                    rideID: rider.ride,
                    riderID: rider.id,
                    reason: reason,
                    receivedAt: Course.start
                )
            ),
            requestID: requestID
        )
    }

    func supersede(_ rider: Rider) async -> RideReply.Body {
        await ask(
            .supersede(
                SupersedeRide(rideID: rider.ride, riderID: rider.id, receivedAt: Course.start)
            )
        )
    }

    // MARK: - What was published

    /// The states of a slot's estimates so far.
    func estimates(in slot: Slot) -> [Estimates] {
        published.all.withLock { $0 }
            .filter { $0.topic == BusTopics.estimates && $0.key == String(slot.rawValue) }
            .compactMap { try? Estimates(decoding: $0.body) }
    }

    /// Lets another verifier hear what this one owns.
    func tell(_ other: TestVerifier) {
        let tables = published.all.withLock { $0 }.filter { $0.topic == BusTopics.slots }
        if let table = tables.last { other.node.heard(table.body) }
    }

    /// The latest table of what it owns, by slot.
    var slots: [Slot: UInt64] {
        let bodies = published.all.withLock { $0 }.filter { $0.topic == BusTopics.slots }
        let table = bodies.last.flatMap { try? SlotTable(decoding: $0.body) }
        return Dictionary(
            (table?.slots ?? []).map { ($0.slot, $0.epoch) },
            uniquingKeysWith: max
        )
    }
}

/// A rider with one ride.
struct Rider: Sendable {
    let id: UniqueID
    let trip: TripID
    let ride: UniqueID

    init(_ id: UniqueID = .random(), on trip: TripID = "T1") {
        self.id = id
        self.trip = trip
        ride = .ride(slot: Slot(of: trip))
    }
}

extension RideReply.Body {
    /// The answer to a batch that was taken.
    var batch: BatchAccepted? {
        guard case .accepted(let batch) = self else { return nil }
        return batch
    }

    /// Why nothing was done.
    var refusal: RideRefusal.Code? {
        guard case .refused(let refusal) = self else { return nil }
        return refusal.code
    }

    /// The answer that a ride has ended.
    static func ended(because reason: String) -> RideReply.Body {
        .refused(RideRefusal(.rideEnded, endReason: reason))
    }

    /// Come again in two seconds.
    static let away = RideReply.Body.refused(
        RideRefusal(.unavailable, retryAfterSeconds: 2)
    )
}
