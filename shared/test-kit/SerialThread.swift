internal import Glibc
internal import Synchronization

/// Runs blocking work one after the other on threads outside the cooperative pool.
final class SerialThread: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Suspends the caller until its work, behind all earlier work, is done.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            let mustStart = state.withLock { state in
                state.work.append { continuation.resume(with: Result(catching: body)) }
                defer { state.isRunning = true }
                return !state.isRunning
            }
            if mustStart { detachThread { self.drain() } }
        }
    }

    private func drain() {
        while true {
            let next: (@Sendable () -> Void)? = state.withLock { state in
                guard !state.work.isEmpty else {
                    state.isRunning = false
                    return nil
                }
                return state.work.removeFirst()
            }
            guard let next else { return }
            next()
        }
    }
}

private final class ThreadBody: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Starts a thread that ends with its work.
func detachThread(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(ThreadBody(body)).toOpaque()
    let failure = pthread_create(&thread, nil, detachedThreadMain, argument)
    precondition(failure == 0, "no thread can be started")
    pthread_detach(thread)
}

private func detachedThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body()
    return nil
}
