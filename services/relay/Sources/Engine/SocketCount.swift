internal import Synchronization

/// How many sockets a process has, counted from the 101 on.
final class SocketCount: Sendable {
    private let count = Atomic<Int>(0)
    let limit: Int

    init(limit: Int) { self.limit = limit }

    var value: Int { count.load(ordering: .relaxed) }

    /// Counts one more.
    ///
    /// - Returns: false when there are as many as may be; it is not counted then.
    func add() -> Bool {
        guard count.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            remove(1)
            return false
        }
        return true
    }

    func remove(_ number: Int) { count.wrappingSubtract(number, ordering: .relaxed) }
}
