internal import Database
internal import Messages
internal import Transit
internal import Verification

/// One transaction of the ledger: what waits, judged and written in an order that all verifiers keep.
///
/// Positions come first, all rides in one statement. Then what locks a rider's row, in the order of
/// the riders' ids, so that two verifiers never wait for each other in a circle.
struct LedgerRound {
    /// The changes so far.
    private(set) var draft: Draft

    private var past: [UniqueID: RideStore.PastRide] = [:]
    /// Rides whose rows ended or went behind our back.
    private var lost: Set<UniqueID> = []
    private let book: RideBook
    private let circumstances: Circumstances
    private let connection: Connection

    init(_ book: RideBook, _ circumstances: Circumstances, _ connection: Connection) {
        draft = Draft(of: book, circumstances)
        self.book = book
        self.circumstances = circumstances
        self.connection = connection
    }

    /// Writes all of it.
    ///
    /// - Parameters:
    ///   - work: In the order of arrival.
    ///   - refusals: The answers to what is not to be done, nil for what is.
    /// - Returns: An answer to each piece of work.
    /// - Throws: ``DatabaseError``; ``draft`` then holds what was decided.
    mutating func file(
        _ work: [RideWork],
        refusals: [RideReply.Body?]
    ) throws(DatabaseError) -> [RideReply.Body] {
        var answers = refusals
        past = try RideStore.pastRides(unknownRides(in: work), on: connection)
        for (index, item) in work.enumerated() {
            guard answers[index] == nil, case .positions(let report) = item.body else { continue }
            answers[index] =
                draft.judge(report) ?? answer(aboutGone: report.rideID, to: report.riderID)
        }
        let saved = try RideStore.saveProgress(
            draft.progressed.compactMap { draft.ride($0) },
            at: circumstances.now,
            on: connection
        )
        try lose(draft.progressed.subtracting(saved))

        var changes = draft.rejected.map {
            (riderID: $0.session.riderID, index: -1, change: Change.reject($0))
        }
        for (index, item) in work.enumerated() where answers[index] == nil {
            if let change = change(for: item) {
                changes.append((change.riderID, index, change.change))
            } else {
                answers[index] = .refused(RideRefusal(.invalid))
            }
        }
        changes.sort { ($0.riderID, $0.index) < ($1.riderID, $1.index) }
        for (_, index, change) in changes {
            switch change {
            case .reject(let ride): _ = try finish(ride, by: nil)
            case .start(let request): answers[index] = try start(request)
            case .end(let ending): answers[index] = try end(ending)
            case .reap(let id): answers[index] = try reap(id)
            case .forget(let id): answers[index] = try forget(id)
            }
        }
        try RideStore.insert(draft.points, receivedAt: circumstances.now, on: connection)
        return zip(work, answers).map { item, answer in
            if case .positions(let report) = item.body, lost.contains(report.rideID) {
                return self.answer(aboutGone: report.rideID, to: report.riderID)
            }
            return answer ?? .refused(.unavailable)
        }
    }

    // MARK: - Changes of rides

    private enum Change {
        case reject(ActiveRide)
        case start(StartRide)
        case end(Ending)
        case reap(UniqueID)
        case forget(UniqueID)
    }

    private struct Ending {
        let rideID: UniqueID
        let riderID: UniqueID
        let reason: EndReason
        let requestID: UniqueID
        /// Whether the rider asked, which counts against the allowance of ride changes.
        let isCharged: Bool
    }

    /// What a piece of work asks for, and whose row it needs; nil when it makes no sense.
    private func change(for item: RideWork) -> (riderID: UniqueID, change: Change)? {
        switch item {
        case .reap(let id):
            guard let ride = draft.ride(id) else { return nil }
            return (ride.session.riderID, .reap(id))
        case .forget(let id):
            guard let ride = draft.ride(id) else { return nil }
            return (ride.session.riderID, .forget(id))
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

    private mutating func start(_ request: StartRide) throws(DatabaseError) -> RideReply.Body {
        if let ride = draft.ride(request.rideID) {
            guard ride.session.riderID == request.riderID else {
                return .refused(RideRefusal(.invalid))
            }
            return .started(RideStarted(ride, request))
        }
        if let ride = past[request.rideID] { return answer(about: ride, to: request.riderID) }
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
            return .refused(.tooManyChanges)
        }
        // Behind the lock on the rider's row: a token that was still on its way when its rider was
        // erased begins nothing.
        if try ErasureStore.isErased(request.riderID, at: circumstances.now, on: connection) {
            try ErasureStore.dropStanding(of: request.riderID, on: connection)
            return .refused(RideRefusal(.unknownRider))
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

    private mutating func end(_ ending: Ending) throws(DatabaseError) -> RideReply.Body {
        guard var ride = draft.ride(ending.rideID) else {
            if let summary = draft.summary(of: ending.rideID, endedBy: ending.requestID) {
                return .ended(summary)
            }
            if let ride = past[ending.rideID], ride.riderID == ending.riderID,
                ride.endedBy == ending.requestID
            {
                return .ended(ride.summary)
            }
            return answer(aboutGone: ending.rideID, to: ending.riderID)
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
                return .refused(.tooManyChanges)
            }
            try RideStore.chargeChange(of: ending.riderID, at: circumstances.now, on: connection)
        }
        // An end that was decided before and not stored wins over this one.
        if let unfiled = ride.unfiled { ride.session = unfiled }
        ride.session.end(ending.reason, at: circumstances.now)
        return try finish(ride, by: ending.requestID)
    }

    private mutating func reap(_ id: UniqueID) throws(DatabaseError) -> RideReply.Body {
        guard var ride = draft.ride(id) else { return .refused(RideRefusal(.rideEnded)) }
        if let unfiled = ride.unfiled { ride.session = unfiled }
        // Asked again here: a batch may have come between the reaper's look and now.
        guard ride.session.reap(at: circumstances.now, thresholds: circumstances.thresholds) != nil
        else { return .refused(RideRefusal(.invalid)) }
        return try finish(ride, by: nil)
    }

    /// Ends a ride whose rows are deleted next; the reason is not seen by anybody.
    private mutating func forget(_ id: UniqueID) throws(DatabaseError) -> RideReply.Body {
        guard var ride = draft.ride(id) else { return .refused(RideRefusal(.rideEnded)) }
        if let unfiled = ride.unfiled { ride.session = unfiled }
        ride.session.end(.userRequested, at: circumstances.now)
        return try finish(ride, by: nil)
    }

    private mutating func finish(
        _ ride: ActiveRide,
        by requestID: UniqueID?
    ) throws(DatabaseError) -> RideReply.Body {
        guard let summary = ride.session.summary else {
            preconditionFailure("a ride is finished after its end was decided")
        }
        let ended = RideEnded(
            points: summary.counts.total,
            matched: summary.counts.matched,
            corroborated: summary.counts.corroborated,
            durationSeconds: Int(summary.durationSeconds)
        )
        // Before it is written: the end holds also if that fails.
        draft.end(ride, by: requestID.map { ($0, ended) })
        let isFiled = try RideStore.finish(
            ride,
            requestID: requestID,
            at: circumstances.now,
            on: connection
        )
        guard isFiled else {
            try lose([ride.rideID])
            return answer(aboutGone: ride.rideID, to: ride.session.riderID)
        }
        return .ended(ended)
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

    /// Drops rides whose rows ended or went behind our back, and learns how.
    private mutating func lose(_ ids: Set<UniqueID>) throws(DatabaseError) {
        guard !ids.isEmpty else { return }
        for id in ids { draft.drop(id) }
        lost.formUnion(ids)
        past.merge(try RideStore.pastRides(ids.sorted(), on: connection)) { $1 }
    }

    /// What a rider hears about a ride that is not under way (spec 0, f).
    private func answer(aboutGone id: UniqueID, to riderID: UniqueID) -> RideReply.Body {
        if let session = draft.endedSessions[id], let end = session.end {
            return session.riderID == riderID
                ? .refused(.ended(end.reason)) : .refused(RideRefusal(.rideNotFound))
        }
        guard let ride = past[id] else { return .refused(RideRefusal(.rideEnded)) }
        return answer(about: ride, to: riderID)
    }

    private func answer(about ride: RideStore.PastRide, to riderID: UniqueID) -> RideReply.Body {
        guard ride.riderID == riderID else { return .refused(RideRefusal(.rideNotFound)) }
        guard !ride.isActive else { return .refused(.unavailable) }
        return .refused(RideRefusal(.rideEnded, endReason: ride.endReason))
    }
}

extension RideRefusal {
    /// The allowance of ride changes is spent.
    fileprivate static let tooManyChanges = RideRefusal(
        .tooManyRideChanges,
        retryAfterSeconds: Int(RideStore.changeInterval)
    )
}
