internal import Synchronization
internal import Telemetry

/// What the server lacked when it last refused work: disk, memory, or the right to write.
///
/// A connection stands while the server's disk is full, and reading goes on. Whoever asks whether a
/// process can do its job must therefore hear of the refusals. One watch serves all connections of a
/// process, as copies of one ``DatabaseConfiguration`` share it.
public final class ServerWant: Sendable {
    /// How long a refusal is held against the server, in seconds: longer than the pauses between writes,
    /// so that a full disk is not forgotten in between.
    public static let memorySeconds: UInt64 = 30

    private let last = Mutex<(message: String, at: UInt64)?>(nil)

    /// Makes a watch that has heard nothing.
    public init() {}

    /// The server's own words, as long as they were said within ``memorySeconds``; nil when all is well.
    public var current: String? { current(at: Timestamps.monotonicNanoseconds()) }

    func current(at now: UInt64) -> String? {
        last.withLock { last in
            guard let last, now < last.at + Self.memorySeconds * 1_000_000_000 else { return nil }
            return last.message
        }
    }

    /// Keeps an error that is the server's want, and no other.
    func note(_ error: DatabaseError, at now: UInt64 = Timestamps.monotonicNanoseconds()) {
        guard let state = error.sqlState, Self.isWant(state) else { return }
        last.withLock { $0 = (error.message, now) }
    }

    // Class 53 is "insufficient resources" and 58 "system error", 25006 a server that only reads
    // (PostgreSQL, appendix A). Connections that are all taken are seen by who wants one.
    private static func isWant(_ state: String) -> Bool {
        state == "25006" || state.hasPrefix("58") || (state.hasPrefix("53") && state != "53300")
    }
}
