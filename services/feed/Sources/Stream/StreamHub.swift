internal import Messages
internal import Schedule
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Web

/// Feeds all readers of `/gtfs-rt/stream` from one sequence of states.
///
/// What readers of one filter are told is made once. A reader holds nothing but how far it is; one that is
/// more than ``patience`` states behind starts over with a snapshot.
final class StreamHub: Sendable {
    /// States that a reader may lag behind and still get what changed.
    static let patience: UInt64 = 2
    /// Filters whose events are kept for others; readers with rarer ones have theirs made alone.
    private static let keptFilters = 64

    private struct Key: Hashable {
        let filter: StreamFilter
        let isSnapshot: Bool
    }

    private struct Stage {
        let tick: StreamTick
        var events: [Key: SharedBytes] = [:]
    }

    private struct State {
        /// The newest states, the newest last.
        var stages: [Stage] = []
        var readers: [ObjectIdentifier: StreamReader] = [:]
        var isBuilding = false
    }

    private let board: @Sendable () -> PublishedFeed
    private let maximumReaders: Int
    private let state = Mutex(State())
    private let restarts: Counter

    /// Makes a hub without readers.
    ///
    /// - Parameters:
    ///   - maximumReaders: Beyond them a caller is refused.
    ///   - metrics: Shows readers and counts those that fell behind.
    ///   - feed: The newest positions.
    init(
        maximumReaders: Int,
        metrics: Metrics,
        feed: @escaping @Sendable () -> PublishedFeed
    ) {
        self.maximumReaders = maximumReaders
        board = feed
        restarts = metrics.counter(
            "stream_restarts_total",
            help: "Readers of the stream that fell behind and got a fresh snapshot."
        )
        metrics.gauge("stream_readers_items", help: "Readers of the stream.") { [weak self] in
            Double(self?.readerCount ?? 0)
        }
    }

    /// How many read now.
    var readerCount: Int { state.withLock { $0.readers.count } }

    /// There is a new feed; called on the thread that brought it, which may take its time.
    func feedChanged() {
        let (hasReaders, last) = state.withLock { state in
            if state.readers.isEmpty { state.stages = [] }
            return (!state.readers.isEmpty, state.stages.last?.tick)
        }
        guard hasReaders else { return }
        let tick = StreamTick(board(), after: last)
        let readers = state.withLock { state -> [StreamReader] in
            guard state.stages.last?.tick.number == last?.number else { return [] }
            var stage = Stage(tick: tick)
            // What most readers want is ready before they are woken.
            let plain = Key(filter: StreamFilter(), isSnapshot: false)
            stage.events[plain] = SharedBytes(tick.update(StreamFilter()))
            state.stages.append(stage)
            if state.stages.count > Int(Self.patience) { state.stages.removeFirst() }
            return Array(state.readers.values)
        }
        for reader in readers { reader.wake() }
    }

    /// Adds a reader.
    ///
    /// - Parameters:
    ///   - filter: What it wants.
    ///   - key: The digest of the API key that it came with; nil where none is needed.
    /// - Returns: nil when there are too many.
    func join(_ filter: StreamFilter, key: String? = nil) -> StreamReader? {
        let reader = StreamReader(filter: filter, key: key, hub: self)
        let (isAdmitted, mustBuild) = state.withLock { state in
            guard state.readers.count < maximumReaders else { return (false, false) }
            state.readers[ObjectIdentifier(reader)] = reader
            let mustBuild = state.stages.isEmpty && !state.isBuilding
            if mustBuild { state.isBuilding = true }
            return (true, mustBuild)
        }
        guard isAdmitted else { return nil }
        if mustBuild {
            Task { [self] in
                await WorkerThread.run { self.feedChanged() }
                state.withLock { $0.isBuilding = false }
            }
        }
        return reader
    }

    /// Ends the streams of readers whose API key counts no more.
    func dismiss(where isRevoked: (_ key: String) -> Bool) {
        let readers = state.withLock { Array($0.readers.values) }
        for reader in readers {
            if let key = reader.key, isRevoked(key) { reader.dismiss() }
        }
    }

    func leave(_ reader: StreamReader) {
        state.withLock { state in
            state.readers[ObjectIdentifier(reader)] = nil
            if state.readers.isEmpty { state.stages = [] }
        }
    }

    /// What a reader gets next.
    ///
    /// - Parameters:
    ///   - filter: What it wants.
    ///   - position: The state that it has seen; 0 for none.
    /// - Returns: The bytes and the state that they bring it to; nil when there is nothing yet. Empty
    ///   bytes mean that nothing changed for it.
    func next(
        _ filter: StreamFilter,
        after position: UInt64
    ) -> (bytes: SharedBytes, position: UInt64)? {
        state.withLock { state in
            guard let newest = state.stages.last?.tick.number, newest > position else { return nil }
            let oldest = state.stages[0].tick.number
            guard position > 0, position + 1 >= oldest else {
                if position > 0 { restarts.add() }
                let index = state.stages.count - 1
                return (events(&state.stages[index], filter, isSnapshot: true), newest)
            }
            let index = Int(position + 1 - oldest)
            return (events(&state.stages[index], filter, isSnapshot: false), position + 1)
        }
    }

    private func events(
        _ stage: inout Stage,
        _ filter: StreamFilter,
        isSnapshot: Bool
    ) -> SharedBytes {
        let key = Key(filter: filter, isSnapshot: isSnapshot)
        if let known = stage.events[key] { return known }
        let made = SharedBytes(isSnapshot ? stage.tick.snapshot(filter) : stage.tick.update(filter))
        if stage.events.count < Self.keptFilters { stage.events[key] = made }
        return made
    }
}

/// One reader of the stream: how far it is, and how it is woken.
final class StreamReader: StreamSource {
    /// Seconds without an event after which a comment shows that the stream lives and finds out who left.
    private static let silence: UInt64 = 15_000_000_000
    private static let comment = SharedBytes(Array(":\n\n".utf8))

    private struct State {
        var position: UInt64 = 0
        var wake: (@Sendable () -> Void)?
        var spokeAt = Timestamps.monotonicNanoseconds()
        var isDismissed = false
    }

    /// The digest of the API key that it came with.
    let key: String?
    private let filter: StreamFilter
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
        while let next = hub.next(filter, after: state.withLock { $0.position }) {
            let now = Timestamps.monotonicNanoseconds()
            let isSilent = state.withLock { state in
                state.position = next.position
                let isSilent = next.bytes.count == 0 && now - state.spokeAt >= Self.silence
                if next.bytes.count > 0 || isSilent { state.spokeAt = now }
                return isSilent
            }
            if next.bytes.count > 0 { return .bytes(next.bytes) }
            if isSilent { return .bytes(Self.comment) }
        }
        return .wait
    }

    func end() { hub.leave(self) }
}
