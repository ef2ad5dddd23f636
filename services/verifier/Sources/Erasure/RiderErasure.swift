internal import Database
internal import Messages
internal import Telemetry
internal import Transit

/// Forgets riders and tells them what is stored (architecture, section 8); any verifier can.
///
/// Only an active ride needs the owner of its slot: it ends there first, so that nothing in memory
/// writes it again.
struct RiderErasure: Sendable {
    /// Rides in a page of an export: a ride of three hours has 0.5 MB of points, a message holds 16.
    static let ridesPerPage = 20
    /// Looks for an active ride; each finds one only when a start was faster than the mark.
    private static let attempts = 3

    /// The pool; not the writer's connection, on which riders wait.
    let pool: Database
    /// Whether this process owns a slot.
    let owns: @Sendable (Slot) -> Bool
    /// Who owns a slot that is not ours, as far as is known.
    let owner: @Sendable (Slot) -> String?
    /// Ends a ride of an owned slot.
    let forget: @Sendable (_ rideID: UniqueID) async -> RideReply.Body
    /// Asks another verifier, nil when it does not answer.
    let ask: @Sendable (_ body: RideRequest.Body, _ instance: String) async -> RideReply.Body?
    let logger: Logger

    /// Deletes everything about a rider; idempotent.
    ///
    /// - Returns: ``RideReply/Body/erased`` or ``RideReply/Body/erasedButBlocked`` once nothing else
    ///   is stored, otherwise a refusal after which auth asks again.
    func erase(_ request: EraseRider) async -> RideReply.Body {
        do throws(DatabaseError) {
            try await pool.transaction { connection throws(DatabaseError) in
                try ErasureStore.mark(request, on: connection)
            }
            for _ in 0..<Self.attempts {
                let ride = try await pool.withConnection { connection throws(DatabaseError) in
                    try ErasureStore.activeRide(of: request.riderID, on: connection)
                }
                if let ride {
                    if let answer = await end(ride, request) { return answer }
                    continue
                }
                let remainder = try await pool.transaction { connection throws(DatabaseError) in
                    try ErasureStore.delete(request, on: connection)
                }
                switch remainder {
                case .nothing: return .erased
                case .blockedSuccessor: return .erasedButBlocked
                case .activeRide: continue
                }
            }
            return .refused(.unavailable)
        } catch {
            return refused(error, "a rider cannot be erased")
        }
    }

    /// A page of what is stored about a rider.
    func export(_ request: ExportRider) async -> RideReply.Body {
        do throws(DatabaseError) {
            let objects = try await pool.withConnection { connection throws(DatabaseError) in
                guard request.page > 0 else {
                    let standing = try ErasureStore.standing(of: request.riderID, on: connection)
                    return standing.map { [$0] } ?? []
                }
                return try ErasureStore.rides(
                    of: request.riderID,
                    limit: Self.ridesPerPage,
                    offset: (request.page - 1) * Self.ridesPerPage,
                    on: connection
                )
            }
            return .exported(Array(objects.joined(separator: ",").utf8))
        } catch {
            return refused(error, "a rider's data cannot be read")
        }
    }

    /// Ends an active ride where its slot is.
    ///
    /// - Returns: The answer when that was for another verifier to give, nil to look again.
    private func end(_ ride: UniqueID, _ request: EraseRider) async -> RideReply.Body? {
        if owns(ride.slot) {
            guard case .refused(let refusal) = await forget(ride) else { return nil }
            // Ended meanwhile, which the next look sees.
            let isGone = refusal.code == .rideEnded || refusal.code == .invalid
            return isGone ? nil : .refused(refusal)
        }
        // One step only, so that two that take each other for the owner do not ask in a circle.
        guard !request.isForwarded, let owner = owner(ride.slot) else {
            return .refused(.unavailable)
        }
        var forwarded = request
        forwarded.isForwarded = true
        return await ask(.eraseRider(forwarded), owner) ?? .refused(.unavailable)
    }

    private func refused(_ error: DatabaseError, _ sentence: String) -> RideReply.Body {
        guard error.kind == .statement, !error.isRetryable else { return .refused(.unavailable) }
        logger.error(sentence, ["error": .text(error.description)])
        return .refused(RideRefusal(.failed))
    }
}
