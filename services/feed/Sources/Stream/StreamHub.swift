internal import Messages
internal import Schedule
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Web

/// Feeds all readers of `/gtfs-rt/stream` from one sequence of states.
///
/// What readers without a filter of their own are told is made once; what the others are told is made in
/// pieces when they have room for it. A reader holds how far it is and a piece; one that is more than
/// ``patience`` states behind starts over with a snapshot.
final class StreamHub: Sendable {
    /// States that a reader may lag behind and still get what changed.
    static let patience: UInt64 = 2

    /// What a reader gets of a state.
    enum News {
        /// The same bytes as others get; empty when nothing changed for it.
        case shared(SharedBytes)
        /// Its own.
        case own(StreamPieces)
    }

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
            stage.events[plain] = SharedBytes(tick.update(StreamFilter()).whole)
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
    /// - Returns: What it gets and the state that this brings it to; nil when there is nothing yet.
    func next(
        _ filter: StreamFilter,
        after position: UInt64
    ) -> (news: News, position: UInt64)? {
        state.withLock { state in
            guard let newest = state.stages.last?.tick.number, newest > position else { return nil }
            let oldest = state.stages[0].tick.number
            guard position > 0, position + 1 >= oldest else {
                if position > 0 { restarts.add() }
                let index = state.stages.count - 1
                return (news(&state.stages[index], filter, isSnapshot: true), newest)
            }
            let index = Int(position + 1 - oldest)
            return (news(&state.stages[index], filter, isSnapshot: false), position + 1)
        }
    }

    private func news(_ stage: inout Stage, _ filter: StreamFilter, isSnapshot: Bool) -> News {
        let pieces = isSnapshot ? stage.tick.snapshot(filter) : stage.tick.update(filter)
        guard filter.isCommon else { return .own(pieces) }
        let key = Key(filter: filter, isSnapshot: isSnapshot)
        if let known = stage.events[key] { return .shared(known) }
        let made = SharedBytes(pieces.whole)
        stage.events[key] = made
        return .shared(made)
    }
}
