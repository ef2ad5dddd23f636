internal import CMicrohttpd
internal import Synchronization
internal import Telemetry

/// A server's second thread: watches time limits, and at the end drains and stops the library.
final class Keeper: Sendable {
    /// How often limits are looked at while there is a connection; a limit may be passed by as much.
    static let interval: Int32 = 100
    /// How long answered requests may take to leave once everything has been answered.
    private static let flushTime: Duration = .seconds(1)

    private struct Daemon: @unchecked Sendable {
        // Written once before the thread starts, used by it alone.
        let pointer: OpaquePointer
        let listener: Int32
    }

    private struct Stop {
        var drainUntil: UInt64?
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isDone = false
    }

    private let core: ServerCore
    private let daemon: Daemon
    private var wake: WakeEvent { core.registry.firstCame }
    private let stop = Mutex(Stop())

    init(_ core: ServerCore, daemon: OpaquePointer, listener: Int32) {
        self.core = core
        self.daemon = Daemon(pointer: daemon, listener: listener)
        BackgroundThread.start { [self] in run() }
    }

    /// Drains and stops; returns when the library's thread has ended.
    func shutdown(within limit: Duration) async {
        await withCheckedContinuation { continuation in
            let isDone = stop.withLock { stop in
                if stop.isDone { return true }
                stop.waiters.append(continuation)
                let until = Timestamps.monotonicNanoseconds() + limit.nanoseconds
                stop.drainUntil = min(stop.drainUntil ?? .max, until)
                return false
            }
            if isDone { continuation.resume() }
            wake.signal()
        }
    }

    private func run() {
        while stop.withLock({ $0.drainUntil }) == nil {
            // Without a connection nothing has a limit, and the first one wakes this thread.
            wake.wait(milliseconds: core.registry.connectionCount > 0 ? Self.interval : -1)
            core.registry.sweep(at: Timestamps.monotonicNanoseconds())
        }
        drain()
        let waiters = stop.withLock { stop in
            stop.isDone = true
            defer { stop.waiters = [] }
            return stop.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func drain() {
        core.registry.beginDraining()
        core.gate.close(daemon: daemon.pointer, listener: daemon.listener)
        waitUntilIdle { stop.withLock { $0.drainUntil } ?? 0 }
        // The library aborts when it is stopped with a suspended connection.
        core.registry.resumeAll()
        let flushUntil = Timestamps.monotonicNanoseconds() + Self.flushTime.nanoseconds
        waitUntilIdle { flushUntil }
        MHD_stop_daemon(daemon.pointer)
        _ = close(daemon.listener)
    }

    /// Waits until no request has been in flight for two looks in a row, so that one that lies
    /// unread in a socket is still answered.
    private func waitUntilIdle(until limit: () -> UInt64) {
        var idleLooks = 0
        while idleLooks < 2 {
            let now = Timestamps.monotonicNanoseconds()
            guard now < limit() else { return }
            core.registry.sweep(at: now)
            idleLooks = core.registry.requestsInFlight == 0 ? idleLooks + 1 : 0
            wake.wait(milliseconds: 10)
        }
    }
}
