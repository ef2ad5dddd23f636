public import Transit

/// Who owns which slot, as heard from the verifiers' ``SlotTable`` messages.
///
/// The higher epoch wins, so an owner that was cut off and speaks late does not take a slot back.
public struct SlotDirectory: Sendable, Equatable {
    private struct Owner: Sendable, Equatable {
        let instance: String
        let epoch: UInt64
    }

    private var owners: [Slot: Owner] = [:]

    /// Knows nobody.
    public init() {}

    /// How many slots have a known owner.
    public var count: Int { owners.count }

    /// The instance that owns a slot, nil when none is known.
    public func owner(of slot: Slot) -> String? { owners[slot]?.instance }

    /// Takes the whole table of one instance; what it no longer names it no longer owns.
    public mutating func merge(_ table: SlotTable) {
        for (slot, owner) in owners where owner.instance == table.instance { owners[slot] = nil }
        for entry in table.slots where entry.epoch > owners[entry.slot]?.epoch ?? 0 {
            owners[entry.slot] = Owner(instance: table.instance, epoch: entry.epoch)
        }
    }

    /// Takes a hint from an instance that refused a request; a table always overrides it.
    public mutating func note(_ instance: String, owns slot: Slot) {
        owners[slot] = Owner(instance: instance, epoch: owners[slot]?.epoch ?? 0)
    }

    /// Forgets who owns a slot.
    public mutating func forget(_ slot: Slot) { owners[slot] = nil }

    /// Forgets an instance that is gone.
    public mutating func remove(_ instance: String) {
        for (slot, owner) in owners where owner.instance == instance { owners[slot] = nil }
    }

    /// Forgets every instance that is not among those that live.
    public mutating func keep(_ living: Set<String>) {
        for (slot, owner) in owners where !living.contains(owner.instance) { owners[slot] = nil }
    }
}
