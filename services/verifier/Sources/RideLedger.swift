internal import Database
internal import Messages
internal import Synchronization
internal import Transit
internal import Verification

/// A piece of work for the writer.
enum RideWork: Sendable {
    /// A rider's request.
    case request(RideRequest)
    /// A ride that the clock or an unfiled end ends.
    case reap(UniqueID)
}

/// Judges and files everything that waits, in one transaction.
///
/// Used on the writer's thread only. ``commit(_:on:)`` prepares and writes, and then exactly one of
/// ``committed()`` and ``discarded()`` follows.
final class RideLedger: Sendable {
    private let book: RideBook
    private let circumstances: @Sendable () -> Circumstances
    private let owner: @Sendable (Slot) -> String?
    private let open = Mutex<Draft?>(nil)

    /// Makes a ledger.
    ///
    /// - Parameters:
    ///   - book: The rides in memory.
    ///   - owner: Who owns a slot that is not ours, as far as we know.
    ///   - circumstances: Schedule, trusted vehicles and clocks of the moment.
    init(
        book: RideBook,
        owner: @escaping @Sendable (Slot) -> String?,
        circumstances: @escaping @Sendable () -> Circumstances
    ) {
        self.book = book
        self.owner = owner
        self.circumstances = circumstances
    }

    /// Writes what the work amounts to.
    ///
    /// - Parameters:
    ///   - work: All that waits, in the order of arrival.
    ///   - connection: The writer's, inside the transaction.
    /// - Returns: An answer for each piece of work, to be given once the transaction is committed.
    /// - Throws: ``DatabaseError``; the transaction is then rolled back.
    func commit(
        _ work: [RideWork],
        on connection: Connection
    ) throws(DatabaseError) -> [RideReply.Body] {
        let circumstances = circumstances()
        var draft = Draft(of: book, circumstances)
        var answers = [RideReply.Body?](repeating: nil, count: work.count)
        let past = try RideStore.pastRides(unknownRides(in: work), on: connection)
        for (index, item) in work.enumerated() {
            answers[index] = refusalOfSlot(item)
            guard answers[index] == nil, case .positions(let report) = item.body else { continue }
            answers[index] =
                draft.judge(report) ?? Self.answer(past[report.rideID], to: report.riderID)
        }
        // Kept from here on, so that a failure below still knows which rides had ended.
        defer { open.withLock { $0 = draft } }
        let progressed = draft.progressed.compactMap { draft.ride($0) }
        let saved = try RideStore.saveProgress(progressed, at: circumstances.now, on: connection)
        var lost = draft.progressed.subtracting(saved)
        for id in lost { draft.drop(id) }

        // Riders' rows are locked in the order of their ids, so that two verifiers never wait for
        // each other in a circle.
        var changes: [(riderID: UniqueID, index: Int?, run: Change)] = []
        for ride in draft.rejected { changes.append((ride.session.riderID, nil, .reject(ride))) }
        for (index, item) in work.enumerated() where answers[index] == nil {
            guard let change = change(for: item, in: draft) else {
                answers[index] = .refused(RideRefusal(.invalid))
                continue
            }
            changes.append((change.riderID, index, change.change))
        }
        changes.sort { ($0.riderID, $0.index ?? -1) < ($1.riderID, $1.index ?? -1) }
        for (_, index, change) in changes {
            let answer: RideReply.Body?
            switch change {
            case .reject(let ride):
                let filed = try RideStore.finish(
                    ride,
                    requestID: nil,
                    at: circumstances.now,
                    on: connection
                )
                if !filed {
                    draft.drop(ride.rideID)
                    lost.insert(ride.rideID)
                }
                answer = nil
            case .start(let request):
                answer = try start(request, past, &draft, circumstances, connection)
            case .end(let ending):
                answer = try end(ending, past, &draft, circumstances, connection)
            case .reap(let ride):
                answer = try reap(ride, &draft, circumstances, connection)
            }
            if let index { answers[index] = answer }
        }
        try RideStore.insert(draft.points, receivedAt: circumstances.now, on: connection)
        return zip(work, answers).map { item, answer in
            if case .positions(let report) = item.body, lost.contains(report.rideID) {
                return .refused(RideRefusal(.rideEnded))
            }
            return answer ?? .refused(.unavailable)
        }
    }

    /// Takes the committed changes into the book.
    func committed() {
        guard let draft = open.withLock({ $0.take() }) else { return }
        book.adopt(draft.changes)
    }

    /// Drops the changes; ends that were decided are left to the reaper, with their reasons.
    func discarded() {
        guard let draft = open.withLock({ $0.take() }) else { return }
        for (id, session) in draft.endedSessions {
            book.update(id) { $0.unfiled = $0.unfiled ?? session }
        }
    }

    // MARK: - Changes of rides

    private enum Change {
        case reject(ActiveRide)
        case start(StartRide)
        case end(Ending)
        case reap(UniqueID)
    }

    private struct Ending {
        let rideID: UniqueID
        let riderID: UniqueID
        let reason: EndReason
        let requestID: UniqueID?
        /// Whether the rider asked, which counts against the allowance of ride changes.
        let isCharged: Bool
    }

    private func change(
        for item: RideWork,
        in draft: Draft
    ) -> (riderID: UniqueID, change: Change)? {
        switch item {
        case .reap(let id):
            guard let ride = draft.ride(id) else { return nil }
            return (ride.session.riderID, .reap(id))
        case .request(let request):
            switch request.body {
            case .start(let start):
                return (start.riderID, .start(start))
            case .end(let end):
                guard let reason = EndReason.reported(end.reason) else { return nil }
                let ending = Ending(
                    rideID: end.rideID,
                    riderID: end.riderID,
                    reason: reason,
                    requestID: request.requestID,
                    isCharged: true
                )
                return (end.riderID, .end(ending))
            case .supersede(let supersede):
                let ending = Ending(
                    rideID: supersede.rideID,
                    riderID: supersede.riderID,
                    reason: .superseded,
                    requestID: request.requestID,
                    isCharged: false
                )
                return (supersede.riderID, .end(ending))
            default:
                return nil
            }
        }
    }

    private func start(
        _ request: StartRide,
        _ past: [UniqueID: RideStore.PastRide],
        _ draft: inout Draft,
        _ circumstances: Circumstances,
        _ connection: Connection
    ) throws(DatabaseError) -> RideReply.Body {
        if let ride = draft.ride(request.rideID) {
            guard ride.session.riderID == request.riderID else {
                return .refused(RideRefusal(.invalid))
            }
            return .started(RideStarted(ride, request))
        }
        if let ride = past[request.rideID] {
            return .refused(RideRefusal(.rideEnded, endReason: ride.endReason))
        }
        let ride: ActiveRide
        switch RideStarted.check(request, circumstances) {
        case .success(let checked): ride = checked
        case .failure(let refusal): return .refused(refusal.refusal)
        }
        let standing = try RideStore.standing(
            of: request.riderID,
            at: circumstances.now,
            on: connection
        )
        guard standing.mayChange else {
            return .refused(
                RideRefusal(
                    .tooManyRideChanges,
                    retryAfterSeconds: Int(RideStore.changeInterval)
                )
            )
        }
        var started = ride
        started.tier = standing.tier
        if let other = try RideStore.insert(started, request: request, on: connection) {
            return .conflict(rideID: other)
        }
        try RideStore.chargeChange(of: request.riderID, at: circumstances.now, on: connection)
        draft.add(started)
        return .started(RideStarted(started, request))
    }

    private func end(
        _ ending: Ending,
        _ past: [UniqueID: RideStore.PastRide],
        _ draft: inout Draft,
        _ circumstances: Circumstances,
        _ connection: Connection
    ) throws(DatabaseError) -> RideReply.Body {
        guard var ride = draft.ride(ending.rideID) else {
            if let end = draft.end(of: ending.rideID) { return .refused(.ended(end.reason)) }
            if let ride = past[ending.rideID], ride.riderID == ending.riderID,
                let endedBy = ride.endedBy, endedBy == ending.requestID
            {
                return .ended(ride.summary)
            }
            return Self.answer(past[ending.rideID], to: ending.riderID)
        }
        guard ride.session.riderID == ending.riderID else {
            return .refused(RideRefusal(.rideNotFound))
        }
        if ending.isCharged {
            let standing = try RideStore.standing(
                of: ending.riderID,
                at: circumstances.now,
                on: connection
            )
            guard standing.mayChange else {
                return .refused(
                    RideRefusal(
                        .tooManyRideChanges,
                        retryAfterSeconds: Int(RideStore.changeInterval)
                    )
                )
            }
            try RideStore.chargeChange(of: ending.riderID, at: circumstances.now, on: connection)
        }
        // An end that was decided before and not stored wins over this one.
        if let unfiled = ride.unfiled { ride.session = unfiled }
        ride.session.end(ending.reason, at: circumstances.now)
        return try finish(ride, ending.requestID, &draft, circumstances, connection)
    }

    private func reap(
        _ id: UniqueID,
        _ draft: inout Draft,
        _ circumstances: Circumstances,
        _ connection: Connection
    ) throws(DatabaseError) -> RideReply.Body {
        guard var ride = draft.ride(id) else { return .refused(RideRefusal(.rideEnded)) }
        if let unfiled = ride.unfiled { ride.session = unfiled }
        // Asked again here: a batch may have come between the reaper's look and now.
        guard ride.session.reap(at: circumstances.now, thresholds: circumstances.thresholds) != nil
        else { return .refused(RideRefusal(.invalid)) }
        return try finish(ride, nil, &draft, circumstances, connection)
    }

    private func finish(
        _ ride: ActiveRide,
        _ requestID: UniqueID?,
        _ draft: inout Draft,
        _ circumstances: Circumstances,
        _ connection: Connection
    ) throws(DatabaseError) -> RideReply.Body {
        let filed = try RideStore.finish(
            ride,
            requestID: requestID,
            at: circumstances.now,
            on: connection
        )
        guard filed, let summary = ride.session.summary else {
            draft.drop(ride.rideID)
            return .refused(RideRefusal(.rideEnded))
        }
        draft.end(ride)
        return .ended(
            RideEnded(
                points: summary.counts.total,
                matched: summary.counts.matched,
                corroborated: summary.counts.corroborated,
                durationSeconds: Int(summary.durationSeconds)
            )
        )
    }

    // MARK: - Rides that are not under way here

    private func unknownRides(in work: [RideWork]) -> [UniqueID] {
        var ids: Set<UniqueID> = []
        for item in work {
            guard let id = item.rideID, book.owns(id.slot), book.ride(id) == nil else { continue }
            ids.insert(id)
        }
        return ids.sorted()
    }

    /// What a rider hears about a ride that is not under way (spec 0, f).
    private static func answer(
        _ past: RideStore.PastRide?,
        to riderID: UniqueID
    ) -> RideReply.Body {
        guard let past else { return .refused(RideRefusal(.rideEnded)) }
        guard past.riderID == riderID else { return .refused(RideRefusal(.rideNotFound)) }
        guard !past.isActive else { return .refused(.unavailable) }
        return .refused(RideRefusal(.rideEnded, endReason: past.endReason))
    }

    private func refusalOfSlot(_ item: RideWork) -> RideReply.Body? {
        guard let id = item.rideID else { return .refused(RideRefusal(.invalid)) }
        if case .request(let request) = item, case .start(let start) = request.body,
            Slot(of: start.tripID) != id.slot
        {
            return .refused(RideRefusal(.invalid))
        }
        guard !book.owns(id.slot) else { return nil }
        return .refused(RideRefusal(.notOwner, owner: owner(id.slot) ?? "", retryAfterSeconds: 2))
    }
}

extension RideWork {
    /// The request's body; nil for the reaper's work.
    var body: RideRequest.Body? {
        guard case .request(let request) = self else { return nil }
        return request.body
    }

    /// The ride it is about.
    var rideID: UniqueID? {
        switch self {
        case .reap(let id): id
        case .request(let request):
            switch request.body {
            case .start(let start): start.rideID
            case .positions(let report): report.rideID
            case .end(let end): end.rideID
            case .supersede(let supersede): supersede.rideID
            default: nil
            }
        }
    }
}
