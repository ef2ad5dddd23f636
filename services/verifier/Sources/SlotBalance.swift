internal import Transit

/// How many slots a verifier takes or gives back, from what it sees at the moment.
enum SlotBalance: Equatable {
    /// Take free slots, at most this many.
    case acquire(Int)
    /// Give up to this many slots back; the others take them.
    case release(Int)
    /// The share is right.
    case keep

    /// How many slots there are.
    static let slotCount = 256

    /// The share of the verifier at a place among `instances`; shares differ by one at most and
    /// cover every slot.
    static func share(at place: Int, of instances: Int) -> Int {
        let (each, rest) = slotCount.quotientAndRemainder(dividingBy: max(1, instances))
        return each + (place < rest ? 1 : 0)
    }

    /// Decides the next step.
    ///
    /// - Parameters:
    ///   - owned: How many slots this verifier owns.
    ///   - place: Its place in the order of the names of those that live, from 0.
    ///   - instances: How many verifiers live, this one included.
    /// - Returns: One step towards the share.
    static func next(owned: Int, place: Int, of instances: Int) -> SlotBalance {
        let share = share(at: place, of: instances)
        if owned < share { return .acquire(share - owned) }
        return owned > share ? .release(owned - share) : .keep
    }

    /// The slots to give back now: those without a ride at once, as nobody waits for them, the others
    /// one by one and the emptiest first, so that few phones wait at a time.
    ///
    /// - Parameters:
    ///   - surplus: How many are too many.
    ///   - rides: How many rides each owned slot has.
    /// - Returns: At least one slot while there are any.
    static func toRelease(_ surplus: Int, of rides: [Slot: Int]) -> [Slot] {
        let slots = rides.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        let empty = slots.prefix { $0.value == 0 }.count
        return slots.prefix(min(surplus, max(1, empty))).map(\.key)
    }

    /// The slots in the order in which an instance tries them; instances start at different places, so
    /// that they meet less often.
    static func order(for instance: String, except owned: Set<Slot>) -> [Slot] {
        let start = Int(Slot(of: TripID(instance)).rawValue)
        return (0..<slotCount).map { Slot(UInt8(truncatingIfNeeded: start + $0)) }
            .filter { !owned.contains($0) }
    }
}
