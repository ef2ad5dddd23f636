internal import Database
internal import Messages
internal import Telemetry
internal import Transit
internal import Verification

/// What a verifier answers on the bus.
extension VerifierNode {
    /// Answers a request; always with a message, so that the asker need not wait for its deadline.
    ///
    /// What the writer stores needs no task: it is queued here, and the writer's thread answers.
    func answer(
        _ body: [UInt8],
        trace: TraceID,
        _ reply: @escaping @Sendable ([UInt8]) -> Void
    ) {
        guard let message = try? RideRequest(decoding: body) else {
            undecodable.add()
            let failed = RideReply(
                requestID: .random(),
                trace: trace,
                body: .refused(RideRefusal(.invalid))
            )
            return reply(failed.encoded())
        }
        guard message.isForWriter, !message.isMalformed else {
            Task.detached { reply(RideReply(to: message, await self.answer(message)).encoded()) }
            return
        }
        let work = RideWork.request(message)
        writer.write(work) { [logger] result in
            reply(RideReply(to: message, Self.answer(result, to: work, logger)).encoded())
        }
    }

    /// Answers a request that was understood.
    func answer(_ request: RideRequest) async -> RideReply.Body {
        guard !request.isMalformed else {
            undecodable.add()
            return .refused(RideRefusal(.invalid))
        }
        return switch request.body {
        case .start, .positions, .end, .supersede:
            await Self.file(.request(request), with: writer, logger)
        case .tripStatus(let query): tripStatus(query)
        case .eraseRider(let request): await erasure.erase(request)
        case .exportRider(let request): await erasure.export(request)
        case .rides(let query): await admin.rides(query)
        case .ride(let query): await admin.ride(query)
        case .status: await admin.status()
        }
    }

    static func file(
        _ work: RideWork,
        with writer: CoalescingWriter<RideWork, RideReply.Body>,
        _ logger: Logger
    ) async -> RideReply.Body {
        await withCheckedContinuation { continuation in
            writer.write(work) { continuation.resume(returning: answer($0, to: work, logger)) }
        }
    }

    /// What is answered to a piece of work that the writer has done or not.
    private static func answer(
        _ result: Result<RideReply.Body, any Error>,
        to work: RideWork,
        _ logger: Logger
    ) -> RideReply.Body {
        switch result {
        case .success(let body): return body
        case .failure(let error as DatabaseError)
        where error.kind == .statement && !error.isRetryable:
            logger.error(
                "a request cannot be stored",
                [
                    "error": .text(error.description),
                    "ride.id": .text(work.rideID?.description ?? ""),
                ]
            )
            return .refused(RideRefusal(.failed))
        case .failure: return .refused(.unavailable)
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
    func heard(_ table: [UInt8]) {
        if !owners.heard(table) { unheard.add() }
    }
}

extension RideRequest {
    /// Whether the writer answers it.
    fileprivate var isForWriter: Bool {
        switch body {
        case .start, .positions, .end, .supersede: true
        default: false
        }
    }
}
