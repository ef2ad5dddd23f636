internal import Database
internal import Messages
internal import Telemetry
internal import Transit

extension RiderErasure {
    /// Erasure in a deployment whose riders are switched off: what was stored before can still be
    /// forgotten.
    ///
    /// Nobody owns slots then. A ride that was under way when riders were switched off ends in its
    /// row, under the lock of its slot, so that a verifier that does own it is not passed by.
    static func idle(
        pool: Database,
        now: @escaping @Sendable () -> UnixSeconds,
        logger: Logger
    ) -> RiderErasure {
        RiderErasure(
            pool: pool,
            owns: { _ in true },
            owner: { _ in nil },
            forget: { ride in
                do throws(DatabaseError) {
                    let isOurs = try await pool.transaction { connection throws(DatabaseError) in
                        try end(ride, at: now(), on: connection)
                    }
                    return isOurs ? .erased : .refused(.unavailable)
                } catch {
                    return .refused(.unavailable)
                }
            },
            ask: { _, _ in nil },
            logger: logger
        )
    }

    private static func end(
        _ ride: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        let lock = AdvisoryLock(class: .slot, key: Int32(ride.slot.rawValue))
        guard try lock.tryLockForTransaction(on: connection) else { return false }
        try RideStore.endWithoutScore([ride], at: now, on: connection)
        return true
    }
}
