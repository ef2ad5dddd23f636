public import Telemetry
public import Transit

/// The slots that one verifier owns, sent whole whenever they change.
public struct SlotTable: Equatable, Sendable {
    /// One slot and the number drawn when it was acquired.
    public struct Entry: Hashable, Sendable {
        /// The slot.
        public var slot: Slot
        /// Rises with every acquisition anywhere; of two owners the higher is right.
        public var epoch: UInt64

        /// Makes an entry.
        public init(slot: Slot, epoch: UInt64) {
            self.slot = slot
            self.epoch = epoch
        }
    }

    /// The trace of the change.
    public var trace: TraceID
    /// The verifier.
    public var instance: String
    /// Rises with every table of this instance.
    public var sequence: UInt64
    /// What it owns.
    public var slots: [Entry]

    /// Makes a table.
    public init(
        trace: TraceID = .random(),
        instance: String,
        sequence: UInt64,
        slots: [Entry]
    ) {
        self.trace = trace
        self.instance = instance
        self.sequence = sequence
        self.slots = slots
    }
}
