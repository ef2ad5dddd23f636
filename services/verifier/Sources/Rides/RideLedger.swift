internal import Database
internal import Messages
internal import Synchronization
internal import Transit

/// A piece of work for the writer.
enum RideWork: Sendable {
    /// A rider's request.
    case request(RideRequest)
    /// A ride that the clock or an unfiled end ends.
    case reap(UniqueID)
    /// The ride of a rider who is being forgotten.
    case forget(UniqueID)
}

/// Judges and files everything that waits, in one transaction.
///
/// Used on the writer's thread only. ``commit(_:on:)`` prepares and writes, and then exactly one
/// ``settled(_:_:)`` follows.
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
        var round = LedgerRound(book, circumstances(), connection)
        // Also after a failure: it still knows which rides had ended.
        defer { open.withLock { $0 = round.draft } }
        return try round.file(work, refusals: work.map(refusalOfSlot))
    }

    /// Takes the committed changes into the book, or drops them all.
    ///
    /// Ends that were decided and are not stored are left to the reaper, with their reasons.
    func settled(_ work: [RideWork], _ outcome: BatchOutcome) {
        guard let draft = open.withLock({ $0.take() }) else { return }
        switch outcome {
        case .committed:
            book.adopt(draft.changes)
        case .rolledBack(let error) where error.kind == .statement && work.count > 1:
            // The writer tries each piece again by itself; nothing is decided yet.
            break
        case .rolledBack, .unknown:
            for session in draft.endedSessions.values { book.keepUnfiled(session) }
        }
    }

    private func refusalOfSlot(_ item: RideWork) -> RideReply.Body? {
        guard let id = item.rideID else {
            return .refused(RideRefusal(.invalid))
        }
        guard !book.owns(id.slot) else { return nil }
        return .refused(RideRefusal(.notOwner, owner: owner(id.slot) ?? "", retryAfterSeconds: 2))
    }
}

extension RideWork {
    /// The request's body; nil for work that nobody asked for over HTTP.
    var body: RideRequest.Body? {
        guard case .request(let request) = self else { return nil }
        return request.body
    }

    /// The ride it is about.
    var rideID: UniqueID? {
        switch self {
        case .reap(let id), .forget(let id): id
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

extension RideRequest {
    /// Whether it breaks a promise of ingest, so that it must not reach rules and rows.
    var isMalformed: Bool {
        switch body {
        case .start(let start):
            let texts = [start.vehicleID, start.boardingStopID, start.destinationStopID]
            return Slot(of: start.tripID) != start.rideID.slot
                || texts.contains { $0.utf8.contains(0) }
        case .positions(let report):
            return report.points.isEmpty || report.points.count > RiderLimits.batchSize
                || !report.points.allSatisfy(\.isFinite)
        default: return false
        }
    }
}

extension ReportedPoint {
    /// Whether JSON could have carried it, which knows neither infinity nor not-a-number.
    fileprivate var isFinite: Bool {
        latitude.isFinite && longitude.isFinite
            && accuracy?.isFinite != false && speed?.isFinite != false && bearing?.isFinite != false
    }
}
