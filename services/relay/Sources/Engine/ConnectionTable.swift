/// The open connections by their descriptors, which the system gives out from the smallest on.
struct ConnectionTable {
    private var slots: [Connection?] = []
    /// How many there are.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// All of them, as they are now.
    var values: some Sequence<Connection> { slots.lazy.compactMap { $0 } }

    /// The connection of a descriptor.
    subscript(descriptor: Int32) -> Connection? {
        get {
            let index = Int(descriptor)
            return index < slots.count ? slots[index] : nil
        }
        set {
            let index = Int(descriptor)
            if index >= slots.count {
                slots += Array(repeating: nil, count: index + 1 - slots.count)
            }
            count += (newValue == nil ? 0 : 1) - (slots[index] == nil ? 0 : 1)
            slots[index] = newValue
        }
    }
}
