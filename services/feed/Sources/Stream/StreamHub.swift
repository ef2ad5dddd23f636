internal import Messages
internal import Schedule
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Web

/// Feeds all readers of `/gtfs-rt/stream` from one sequence of states.
///
/// States are kept here alone and are few, so that no reader can keep one in memory by reading slowly: a
/// reader holds how far it is, and a piece. Pieces for readers without a filter of their own are made once.
final class StreamHub: Sendable {
    /// States that a reader may lag behind and still get what changed; one more is kept than that.
    static let patience: UInt64 = 2
    /// Bytes of a piece, about; what a reader that stops reading holds.
    static let pieceBytes = 32 << 10

    /// What a reader gets next.
    enum News {
        /// A piece of a state.
        case piece(SharedBytes)
        /// A state that has nothing for this reader.
        case nothing
    }

    /// Where a piece begins.
    private struct Key: Hashable {
        let filter: StreamFilter
        let isSnapshot: Bool
        let index: Int
    }

    /// A piece that all get who are where it begins.
    private struct Piece {
        let bytes: SharedBytes
        let after: StreamTelling
    }

    private struct Stage {
        let tick: StreamTick
        var pieces: [Key: Piece] = [:]
    }

    private struct State {
        /// The newest states, the newest last.
        var stages: [Stage] = []
        var readers: [ObjectIdentifier: StreamReader] = [:]
        /// The number of the newest state that was begun; goes on when readers leave and others come.
        var newestNumber: UInt64 = 0
        /// Whether somebody makes a state: one is made after the other, so that each is newer than the one before.
        var isBuilding = false
        /// Whether there is a feed, or a first reader, that no state was begun for.
        var isAwaited = false

        /// Begins the state that is awaited.
        ///
        /// - Parameter goesOn: Whether the caller has just made one; while it makes them nobody else does.
        /// - Returns: Its number and the state before it; nil when it is not for the caller to make one.
        mutating func begin(goesOn: Bool = false) -> (number: UInt64, previous: StreamTick?)? {
            guard goesOn || !isBuilding else { return nil }
            isBuilding = isAwaited && !readers.isEmpty
            isAwaited = false
            guard isBuilding else { return nil }
            newestNumber += 1
            return (newestNumber, stages.last?.tick)
        }

        /// Keeps a state; who joined while it was made knows none before, and needs none.
        mutating func keep(_ stage: Stage) {
            guard !readers.isEmpty else { return }
            stages.append(stage)
            if stages.count > Int(StreamHub.patience) + 1 { stages.removeFirst() }
        }
    }

    private let board: @Sendable () -> PublishedFeed
    private let maximumReaders: Int
    private let state = Mutex(State())
    private let restarts: Counter
    /// Counts snapshots that went on in a newer state.
    let moves: Counter

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
        moves = metrics.counter(
            "stream_snapshots_moved_total",
            help: "Snapshots that went on in a newer state, as their reader was slow."
        )
        metrics.gauge("stream_readers_items", help: "Readers of the stream.") { [weak self] in
            Double(self?.readerCount ?? 0)
        }
    }

    private var hasNarrowReaders: Bool {
        state.withLock { $0.readers.values.contains { !$0.filter.isCommon } }
    }

    /// How many read now.
    var readerCount: Int { state.withLock { $0.readers.count } }

    /// The newest state; nil while nobody reads.
    var newest: StreamTick? { state.withLock { $0.stages.last?.tick } }

    /// There is a new feed; called on the thread that brought it, which may take its time.
    func feedChanged() {
        state.withLock { $0.isAwaited = true }
        build()
    }

    /// Makes states for as long as one is awaited; returns at once while another thread does.
    private func build() {
        var next = state.withLock { $0.begin() }
        while let (number, previous) = next {
            // What most readers want is ready before they are woken.
            let tick = StreamTick(board(), number: number, after: previous)
            if hasNarrowReaders { tick.prepareForNarrowFilters() }
            let stage = Self.stage(tick)
            let readers: [StreamReader]
            (readers, next) = state.withLock { state in
                state.keep(stage)
                return (Array(state.readers.values), state.begin(goesOn: true))
            }
            for reader in readers { reader.wake() }
        }
    }

    /// A state with what changed in it, as readers without a filter are told it.
    private static func stage(_ tick: StreamTick) -> Stage {
        var stage = Stage(tick: tick)
        var telling = StreamTelling(of: tick, isSnapshot: false)
        while !telling.isEnded {
            let key = Key(filter: StreamFilter(), isSnapshot: false, index: telling.index)
            let bytes = SharedBytes(telling.next(pieceBytes, of: tick, for: StreamFilter()))
            stage.pieces[key] = Piece(bytes: bytes, after: telling)
        }
        return stage
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
            let mustBuild = state.stages.isEmpty && !state.isBuilding && !state.isAwaited
            if mustBuild { state.isAwaited = true }
            return (true, mustBuild)
        }
        guard isAdmitted else { return nil }
        if mustBuild {
            Task { [self] in await WorkerThread.run { self.build() } }
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
    ///   - place: How far it is; goes on with what it gets.
    /// - Returns: nil when there is nothing yet.
    func next(_ filter: StreamFilter, _ place: inout StreamPlace) -> News? {
        let found = state.withLock { state in find(filter, &place, in: state.stages) }
        guard let (tick, begun, known) = found else { return nil }
        let piece: Piece
        if let known {
            piece = known
        } else {
            var telling = begun
            let bytes = SharedBytes(telling.next(Self.pieceBytes, of: tick, for: filter))
            piece = Piece(bytes: bytes, after: telling)
            if filter.isCommon, !begun.isMoved { keep(piece, filter, from: begun) }
        }
        place.settle(piece.after)
        return piece.bytes.count > 0 ? .piece(piece.bytes) : .nothing
    }

    /// The state that a reader is told now, how far it was told, and the piece if somebody got it before.
    private func find(
        _ filter: StreamFilter,
        _ place: inout StreamPlace,
        in stages: [Stage]
    ) -> (StreamTick, StreamTelling, Piece?)? {
        guard let newest = stages.last?.tick else { return nil }
        if let telling = place.telling, !stages.contains(where: { $0.tick.number == telling.state })
        {
            if telling.isSnapshot {
                if !telling.isMoved { moves.add() }
                place.telling?.move(to: newest)
            } else {
                // An event is whole in its piece, so what is left of the changes can be left out.
                place.telling = nil
            }
        }
        guard let telling = place.telling ?? begin(place, in: stages, newest) else { return nil }
        place.telling = telling
        guard let stage = stages.first(where: { $0.tick.number == telling.state }) else {
            return nil
        }
        let key = Key(filter: filter, isSnapshot: telling.isSnapshot, index: telling.index)
        return (stage.tick, telling, telling.isMoved ? nil : stage.pieces[key])
    }

    /// What a reader is told after the state that it knows; nil when that is the newest.
    private func begin(
        _ place: StreamPlace,
        in stages: [Stage],
        _ newest: StreamTick
    ) -> StreamTelling? {
        guard newest.number > place.seen else { return nil }
        if place.seen > 0, newest.number - place.seen <= Self.patience,
            let next = stages.first(where: { $0.tick.number == place.seen + 1 })
        {
            return StreamTelling(of: next.tick, isSnapshot: false)
        }
        if place.seen > 0 { restarts.add() }
        return StreamTelling(of: newest, isSnapshot: true)
    }

    private func keep(_ piece: Piece, _ filter: StreamFilter, from begun: StreamTelling) {
        let key = Key(filter: filter, isSnapshot: begun.isSnapshot, index: begun.index)
        state.withLock { state in
            guard let index = state.stages.firstIndex(where: { $0.tick.number == begun.state })
            else { return }
            state.stages[index].pieces[key] = piece
        }
    }
}
