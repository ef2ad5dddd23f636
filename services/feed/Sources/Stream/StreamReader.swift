internal import Synchronization
internal import Telemetry
internal import Web

/// One reader of the stream: how far it is, and how it is woken.
final class StreamReader: StreamSource {
    /// Seconds without an event after which a comment shows that the stream lives and finds out who left.
    private static let silence: UInt64 = 15_000_000_000
    private static let comment = SharedBytes(Array(":\n\n".utf8))

    private struct State {
        var place = StreamPlace()
        var wake: (@Sendable () -> Void)?
        var spokeAt = Timestamps.monotonicNanoseconds()
        var isDismissed = false
    }

    /// The digest of the API key that it came with.
    let key: String?
    /// What it wants.
    let filter: StreamFilter
    private let hub: StreamHub
    private let state = Mutex(State())

    init(filter: StreamFilter, key: String?, hub: StreamHub) {
        self.filter = filter
        self.key = key
        self.hub = hub
    }

    func begin(wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    func wake() { state.withLock { $0.wake }?() }

    /// The stream ends with what was sent.
    func dismiss() {
        let wake = state.withLock { state in
            state.isDismissed = true
            return state.wake
        }
        wake?()
    }

    func next() -> StreamPiece {
        if state.withLock({ $0.isDismissed }) { return .end }
        while let news = step() {
            if case .piece(let bytes) = news { return said(bytes) }
            let silence = Timestamps.monotonicNanoseconds() - state.withLock { $0.spokeAt }
            if silence >= Self.silence { return said(Self.comment) }
        }
        return .wait
    }

    /// What is next; called on the loop thread alone.
    private func step() -> StreamHub.News? {
        var place = state.withLock { $0.place }
        let news = hub.next(filter, &place)
        state.withLock { $0.place = place }
        return news
    }

    private func said(_ bytes: SharedBytes) -> StreamPiece {
        state.withLock { $0.spokeAt = Timestamps.monotonicNanoseconds() }
        return .bytes(bytes)
    }

    func end() { hub.leave(self) }
}
