internal import Telemetry

/// Sockets whose positions wait a moment for others, so that one write to each brings what came of a burst.
///
/// A write costs a socket nearly the same for one position as for twenty. So positions for a crowd wait about
/// as long as writing them will take, which at most doubles their delay; with few sockets that is nothing
/// that a thread could wait for, and they go at once. Everything else never waits, and takes along what does.
struct Gathering {
    /// What a thread can wait for, in nanoseconds (`epoll_wait` counts milliseconds).
    private static let shortest: UInt64 = 1_000_000

    private let writeTime: UInt64
    private let limit: UInt64
    private var sessions: [Session] = []
    private var since: UInt64 = 0

    /// Makes an empty one.
    init(_ limits: RelayLimits) {
        writeTime = limits.writeTime.nanoseconds
        limit = limits.gatherLimit.nanoseconds
    }

    /// How long positions for so many sockets wait, in nanoseconds.
    func patience(with sockets: Int) -> UInt64 {
        let writing = writeTime * UInt64(sockets)
        return writing < Self.shortest ? 0 : min(writing, limit)
    }

    /// When it ends, monotonic nanoseconds; nil while nothing waits.
    var end: UInt64? { sessions.isEmpty ? nil : since + patience(with: sessions.count) }

    /// Adds a socket that has something to write.
    mutating func add(_ session: Session, at now: UInt64) {
        guard !session.isGathered else { return }
        session.isGathered = true
        if sessions.isEmpty { since = now }
        sessions.append(session)
    }

    /// Takes the sockets whose wait is over.
    ///
    /// - Parameter now: Monotonic nanoseconds.
    /// - Returns: Those that were not written to meanwhile; none before the end.
    mutating func take(at now: UInt64) -> [Session] {
        guard let end, end <= now else { return [] }
        defer { sessions.removeAll(keepingCapacity: true) }
        return sessions.filter(\.isGathered)
    }
}
