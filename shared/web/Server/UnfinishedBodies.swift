/// The requests whose bodies are still on their way, and which of them make room.
///
/// A body holds its connection until it is whole, and a caller decides how long that takes. Where more are unfinished
/// than ``limit``, some of the network that has most of them are ended, the oldest first: a body that comes in one
/// piece with its head is never one of those, however many others come in drops.
///
/// `@unchecked Sendable`: the server's loop thread alone touches it.
final class UnfinishedBodies: @unchecked Sendable {
    /// The most bodies that are waited for.
    private let limit: Int
    private var exchanges: [ObjectIdentifier: Exchange] = [:]

    init(limit: Int) {
        self.limit = limit
    }

    /// Remembers a request whose head is there and whose body is not.
    ///
    /// - Returns: The requests that are to be ended in its favour, no longer remembered; empty where there is room.
    func begin(_ exchange: Exchange) -> ArraySlice<Exchange> {
        exchange.isUnfinished = true
        exchanges[ObjectIdentifier(exchange)] = exchange
        guard exchanges.count > limit else { return [] }
        let ended = slowest()
        for exchange in ended { end(exchange) }
        return ended
    }

    /// Forgets a request whose body is whole or no longer waited for.
    func end(_ exchange: Exchange) {
        guard exchange.isUnfinished else { return }
        exchange.isUnfinished = false
        exchanges[ObjectIdentifier(exchange)] = nil
    }

    /// The oldest requests of the network that has most; a quarter of them, as looking costs a pass over all.
    private func slowest() -> ArraySlice<Exchange> {
        let ofNetworks = Dictionary(grouping: exchanges.values) { $0.clientAddress.callerNetwork }
        guard let most = ofNetworks.values.map(\.count).max() else { return [] }
        let candidates = ofNetworks.values.lazy.filter { $0.count == most }.joined()
        return candidates.sorted { $0.startedAt < $1.startedAt }.prefix((most + 3) / 4)
    }
}
