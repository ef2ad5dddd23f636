internal import Synchronization
internal import Telemetry

/// One open connection: its socket, its peer, and when the keeper cuts it.
final class ConnectionState: Sendable {
    let descriptor: Int32
    let peerAddress: String
    /// True when more connections were open than the server admits.
    let isSurplus: Bool
    private let cutAt: Atomic<UInt64>

    init(descriptor: Int32, peerAddress: String, isSurplus: Bool, limit: Duration) {
        self.descriptor = descriptor
        self.peerAddress = peerAddress
        self.isSurplus = isSurplus
        cutAt = Atomic(Timestamps.monotonicNanoseconds() + limit.nanoseconds)
    }

    /// Moves the moment at which the connection is cut.
    func cut(after limit: Duration, from now: UInt64 = Timestamps.monotonicNanoseconds()) {
        cutAt.store(now + limit.nanoseconds, ordering: .relaxed)
    }

    /// Never cuts the connection: its request waits, and has a deadline of its own.
    func keep() { cutAt.store(.max, ordering: .relaxed) }

    func isOverdue(at now: UInt64) -> Bool { cutAt.load(ordering: .relaxed) <= now }
}

extension Duration {
    /// Whole milliseconds, at least 1.
    var milliseconds: Int { max(1, Int(nanoseconds / 1_000_000)) }
}
