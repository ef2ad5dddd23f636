internal import Messages
internal import Transit
internal import Verification

/// What the rules need to know besides the ride: the same for everything in one transaction.
struct Circumstances: Sendable {
    let index: ScheduleIndex?
    let trusted: TrustedSnapshot
    let thresholds: Thresholds
    /// The application clock.
    let now: UnixSeconds
    /// Monotonic seconds, for allowances.
    let uptime: Double
}

/// The changes of one transaction, kept apart from the book until it is committed.
struct Draft {
    /// Rides as they will be; nil is a ride that ends.
    private(set) var changes: [UniqueID: ActiveRide?] = [:]
    /// Rides that end by the batch that was judged.
    private(set) var rejected: [ActiveRide] = []
    /// Points to store.
    private(set) var points: [(rideID: UniqueID, point: JudgedPoint)] = []
    /// Rides whose rows get their new absolute state.
    private(set) var progressed: Set<UniqueID> = []
    /// Ended sessions, for the reaper in case that the transaction fails.
    private(set) var endedSessions: [UniqueID: Session] = [:]
    /// The requests that ended rides, with their answers.
    private var endings: [UniqueID: (requestID: UniqueID, summary: RideEnded)] = [:]

    private let book: RideBook
    private let circumstances: Circumstances

    init(of book: RideBook, _ circumstances: Circumstances) {
        self.book = book
        self.circumstances = circumstances
    }

    /// A ride as this transaction sees it; nil when it is not, or no longer, under way.
    func ride(_ id: UniqueID) -> ActiveRide? {
        if let change = changes[id] { return change }
        return book.ride(id)
    }

    /// The answer to a request that ended a ride earlier in this transaction.
    func summary(of id: UniqueID, endedBy requestID: UniqueID) -> RideEnded? {
        guard let ending = endings[id], ending.requestID == requestID else { return nil }
        return ending.summary
    }

    /// Notes a ride that the transaction filed.
    mutating func add(_ ride: ActiveRide) { changes[ride.rideID] = .some(ride) }

    /// Notes a ride that ends.
    mutating func end(_ ride: ActiveRide, by ending: (UniqueID, RideEnded)? = nil) {
        changes[ride.rideID] = .some(nil)
        endedSessions[ride.rideID] = ride.session
        endings[ride.rideID] = ending
        progressed.remove(ride.rideID)
    }

    /// Forgets a ride whose row is gone or ended behind our back, with its points.
    mutating func drop(_ id: UniqueID) {
        changes[id] = .some(nil)
        endedSessions[id] = nil
        progressed.remove(id)
        points.removeAll { $0.rideID == id }
    }

    /// Judges a batch against a copy of its ride.
    ///
    /// - Returns: The answer, valid once the transaction is committed; nil when the ride is not, or no
    ///   longer, under way here.
    mutating func judge(_ report: ReportPositions) -> RideReply.Body? {
        guard var ride = ride(report.rideID) else { return nil }
        guard ride.session.riderID == report.riderID else {
            return .refused(RideRefusal(.rideNotFound))
        }
        // An end that the rider asked for holds although it is not stored yet. A rejection does not:
        // the same points sent again reject the ride again.
        if let end = ride.unfiled?.end, !end.reason.isRejection {
            return .refused(.ended(end.reason))
        }
        guard ride.reports.take(at: circumstances.uptime) else {
            return .refused(RideRefusal(.tooManyReports, retryAfterSeconds: 2))
        }
        changes[report.rideID] = .some(ride)
        let digest = Self.digest(report.points)
        if let batch = ride.lastBatch, batch.digest == digest { return .accepted(batch.answer) }
        return apply(report, digest: digest, to: ride)
    }

    private mutating func apply(
        _ report: ReportPositions,
        digest: Int64,
        to ride: ActiveRide
    ) -> RideReply.Body {
        var ride = ride
        let outcome: Verification.BatchOutcome
        do throws(BatchRefusal) {
            outcome = try applyBatch(
                report.points.map(Point.init),
                to: ride.session,
                tier: ride.tier,
                trusted: circumstances.trusted.vehicle(
                    on: ride.session.journey.instance,
                    at: circumstances.now,
                    thresholds: circumstances.thresholds
                ),
                now: circumstances.now,
                thresholds: circumstances.thresholds
            )
        } catch {
            switch error {
            case .rideEnded(let reason): return .refused(.ended(reason))
            }
        }
        let answer = BatchAccepted(outcome.result)
        // Nothing was accepted, so there is nothing to store and nothing to remember.
        guard outcome.result.accepted > 0 else { return .accepted(answer) }
        ride.session = outcome.session
        for judged in outcome.accepted {
            ride.evidence.trace.add(
                judged.point,
                judged.verdict,
                thresholds: circumstances.thresholds
            )
        }
        ride.unfiled = nil
        if outcome.changes.contains(where: { $0.state == .verified }) {
            ride.verifiedAt = circumstances.now
        }
        ride.lastBatch = StoredBatch(digest: digest, answer: answer)
        for point in outcome.pointsToStore(tier: ride.tier) {
            points.append((report.rideID, point))
        }
        if outcome.session.hasEnded {
            end(ride)
            rejected.append(ride)
        } else {
            changes[report.rideID] = .some(ride)
            progressed.insert(report.rideID)
        }
        return .accepted(answer)
    }

    /// FNV-1a-64 over the points in the order in which they were sent.
    static func digest(_ points: [ReportedPoint]) -> Int64 {
        var hash = FNV1a()
        for point in points {
            hash.add(point.latitude.bitPattern)
            hash.add(point.longitude.bitPattern)
            // All bits set is no number that JSON can carry, so it stands for absent.
            hash.add(point.accuracy?.bitPattern ?? .max)
            hash.add(point.speed?.bitPattern ?? .max)
            hash.add(point.bearing?.bitPattern ?? .max)
            hash.add(UInt64(bitPattern: point.timestamp))
        }
        return Int64(bitPattern: hash.value)
    }
}

extension Point {
    /// A reported point as the rules take it.
    init(_ reported: ReportedPoint) {
        self.init(
            Coordinate(latitude: reported.latitude, longitude: reported.longitude),
            accuracy: reported.accuracy,
            speed: reported.speed,
            bearing: reported.bearing,
            timestamp: reported.timestamp
        )
    }
}

extension BatchAccepted {
    /// The rules' answer as the wire carries it.
    init(_ result: BatchResult) {
        self.init(
            state: result.state.rawValue,
            published: result.published,
            corroboration: result.corroboration.rawValue,
            accepted: result.accepted,
            ignored: result.ignored,
            offRouteStreak: result.offRouteStreak,
            ended: result.ended,
            endReason: result.endReason
        )
    }
}

extension RideRefusal {
    /// The ride has ended.
    static func ended(_ reason: EndReason) -> RideRefusal {
        RideRefusal(.rideEnded, endReason: reason.rawValue)
    }

    /// The database is away, or a slot is between two owners.
    static let unavailable = RideRefusal(.unavailable, retryAfterSeconds: 2)
}
