internal import Synchronization

/// Hands what happens to any number of readers, each with a queue of its own.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var count = 0
        var readers: [Int: AsyncStream<Element>.Continuation] = [:]
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Makes a broadcast.
    ///
    /// - Parameter limit: Elements that wait for a slow reader; beyond it the oldest go.
    init(limit: Int) { self.limit = limit }

    /// A reader's stream of what happens from now on, after `first` if there is one.
    func stream(first: Element? = nil) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self,
            bufferingPolicy: .bufferingNewest(limit)
        )
        if let first { continuation.yield(first) }
        let number = state.withLock { state in
            state.count += 1
            state.readers[state.count] = continuation
            return state.count
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.readers[number] = nil }
        }
        return stream
    }

    func send(_ element: Element) {
        for reader in state.withLock({ Array($0.readers.values) }) { reader.yield(element) }
    }

    deinit {
        for reader in state.withLock({ Array($0.readers.values) }) { reader.finish() }
    }
}
