internal import Transit

/// Which slots a verifier gives back when its share has shrunk.
///
/// Slots without a ride go at once, as nobody waits for them, the others one by one, so that few phones
/// wait at a time. Of the slots with rides the same part goes as of all slots: who joins takes over
/// work, not only slots. How many that are is settled when the share changes, because the slots that
/// went first would change the answer.
struct ReleasePlan {
    private var share: Int?
    private var busyToGo = 0

    /// The slots to give back now.
    ///
    /// - Parameters:
    ///   - surplus: How many are too many.
    ///   - rides: How many rides each owned slot has.
    /// - Returns: At least one slot while there are any.
    mutating func next(_ surplus: Int, of rides: [Slot: Int]) -> [Slot] {
        let slots = rides.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        let surplus = min(surplus, slots.count)
        guard surplus > 0 else { return [] }
        let empty = slots.prefix { $0.value == 0 }.map(\.key)
        let busy = slots.dropFirst(empty.count).map(\.key)
        if share != slots.count - surplus {
            share = slots.count - surplus
            busyToGo = busy.count * surplus / slots.count
        }
        let emptyToGo = min(empty.count, surplus - min(busyToGo, busy.count))
        if emptyToGo > 0 { return Array(empty.prefix(emptyToGo)) }
        busyToGo = max(0, busyToGo - 1)
        // One with a middling number of rides: after many of them the rides are shared, too.
        return [busy[busy.count / 2]]
    }
}
