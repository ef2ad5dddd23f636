internal import Messages
internal import Synchronization
internal import Transit

/// Who owns which slot, ours from the book and the others' from their tables.
final class OwnerBoard: Sendable {
    private let instance: String
    private let book: RideBook
    private let send: @Sendable (_ topic: String, _ key: String, _ body: [UInt8]) -> Void
    private let others = Mutex(SlotDirectory())
    private let sequence = Atomic<UInt64>(0)

    init(
        instance: String,
        book: RideBook,
        publish: @escaping @Sendable (_ topic: String, _ key: String, _ body: [UInt8]) -> Void
    ) {
        self.instance = instance
        self.book = book
        send = publish
    }

    /// The instance that owns a slot, as far as is known here.
    func owner(of slot: Slot) -> String? {
        book.owns(slot) ? instance : others.withLock { $0.owner(of: slot) }
    }

    /// Hears the table of another verifier.
    ///
    /// - Returns: false when it was not understood; nothing changes then.
    func heard(_ body: [UInt8]) -> Bool {
        guard let table = try? SlotTable(decoding: body) else { return false }
        others.withLock { $0.merge(table) }
        return true
    }

    /// Says what we own; sent again and again because a lost table would leave phones waiting.
    func publish() {
        let entries = book.ownedSlots.map { SlotTable.Entry(slot: $0.key, epoch: $0.value) }
            .sorted { $0.slot < $1.slot }
        let table = SlotTable(
            instance: instance,
            sequence: sequence.wrappingAdd(1, ordering: .relaxed).newValue,
            slots: entries
        )
        send(BusTopics.slots, "", table.encoded())
    }
}
