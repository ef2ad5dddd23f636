internal import CMicrohttpd

/// Starts threads of our own, for work that blocks and so has no place on the cooperative pool.
enum BackgroundThread {
    /// Runs `body` on a new detached thread.
    static func start(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(ThreadBody(run: body))
        var thread = pthread_t()
        let failure = pthread_create(&thread, nil, runThreadBody, box.toOpaque())
        precondition(failure == 0, "the system refuses another thread (error \(failure))")
        pthread_detach(thread)
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runThreadBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
