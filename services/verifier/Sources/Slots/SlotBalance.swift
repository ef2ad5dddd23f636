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

    /// The slots in the order in which an instance tries them; instances start at different places, so
    /// that they meet less often.
    static func order(for instance: String, except owned: Set<Slot>) -> [Slot] {
        let start = Int(Slot(of: TripID(instance)).rawValue)
        return (0..<slotCount).map { Slot(UInt8(truncatingIfNeeded: start + $0)) }
            .filter { !owned.contains($0) }
    }
}
