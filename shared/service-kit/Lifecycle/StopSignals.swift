internal import CLinux
internal import Glibc
internal import Synchronization

/// Turns SIGTERM and SIGINT into a stream, on a thread of its own.
///
/// The thread takes the signals with `sigwait`. Blocking them elsewhere is not enough: an async
/// `main` leaves the first thread to the concurrency runtime, which parks it with every signal
/// admitted, and the kernel prefers that thread. So a handler passes them on; it does nothing else.
/// Processes started from here inherit the blocked signals: whoever spawns children must reset the
/// mask (`POSIX_SPAWN_SETSIGMASK`).
public enum StopSignals {
    /// Blocks the signals in the calling thread and all threads it starts later.
    ///
    /// Call it first in `main`, before anything starts a thread. A write to a closed pipe or
    /// socket becomes an error instead of the process's end.
    public static func block() {
        var set = stopSet()
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Starts the thread.
    ///
    /// - Returns: The numbers of the signals as they come, for the life of the process.
    public static func stream() -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        let listener = Listener(continuation)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(listener).toOpaque()
        // The thread must be born with the signals blocked: it would pass them to itself for ever.
        var set = stopSet()
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, &set, &before)
        let status = pthread_create(&thread, nil, listenForSignals, context)
        pthread_sigmask(SIG_SETMASK, &before, nil)
        precondition(status == 0, "the signal thread cannot be started")
        pthread_detach(thread)
        listeningThread.store(thread, ordering: .sequentiallyConsistent)
        signal(SIGTERM, passSignalOn)
        signal(SIGINT, passSignalOn)
        return stream
    }
}

/// Ends the process without running exit handlers, which a stuck part could block.
public func exitAtOnce(_ code: Int32) { _exit(code) }

private final class Listener: Sendable {
    private let continuation: AsyncStream<Int32>.Continuation

    init(_ continuation: AsyncStream<Int32>.Continuation) { self.continuation = continuation }

    func listen() -> Never {
        var set = stopSet()
        while true {
            var number: Int32 = 0
            if sigwait(&set, &number) == 0 { continuation.yield(number) }
        }
    }
}

private func stopSet() -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    return set
}

/// Where signals go; written before the handler is set, so that it only ever reads.
private let listeningThread = Atomic<pthread_t>(0)

/// Sends a signal that another thread took to the one that waits for it (async-signal-safe).
private let passSignalOn: @convention(c) (Int32) -> Void = { number in
    pthread_kill(listeningThread.load(ordering: .sequentiallyConsistent), number)
}

/// The thread's body; at file scope, because a C callback in a type traps under some mains.
private let listenForSignals:
    @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
        context in
        guard let context else { return nil }
        Unmanaged<Listener>.fromOpaque(context).takeRetainedValue().listen()
    }
