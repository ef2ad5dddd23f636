internal import Messages
internal import Transit

/// The newest estimates of every slot, as heard from the verifiers.
///
/// A slot's estimates are one whole state. The higher epoch speaks for a slot, so a verifier that
/// lost it and speaks late is not heard; within an epoch the higher sequence is newer.
struct EstimateBoard: Sendable {
    private var slots: [Slot: Estimates] = [:]
    /// Rises whenever a state was taken.
    private(set) var version: UInt64 = 0

    init() {}

    /// Whether the state of every slot was heard: an owner says it when it takes a slot, empty or not.
    var isComplete: Bool { slots.count == Slot.all.count }

    /// Takes a slot's state.
    ///
    /// - Returns: false when a newer one is known.
    mutating func hear(_ estimates: Estimates) -> Bool {
        if let known = slots[estimates.slot],
            (known.epoch, known.sequence) >= (estimates.epoch, estimates.sequence)
        {
            return false
        }
        slots[estimates.slot] = estimates
        version += 1
        return true
    }

    /// The estimates that are still young enough, sorted by trip.
    ///
    /// - Parameters:
    ///   - now: The application clock.
    ///   - maxAge: Seconds after which an estimate says nothing any more, also when its verifier is
    ///     gone and cannot take it back.
    /// - Returns: One estimate for each trip instance that has one.
    func fresh(at now: UnixSeconds, maxAge: Int64) -> [TripEstimate] {
        slots.values.flatMap(\.estimates)
            .filter { $0.timestamp >= now - maxAge }
            .sorted { $0.trip < $1.trip }
    }
}
