internal import CLinux
internal import Synchronization

/// A piece of work for a thread that owns a connection.
struct Job: Sendable {
    /// Does the work; it keeps its own errors.
    let run: @Sendable (Connection) -> Void
    /// Answers that the work was not begun.
    let refuse: @Sendable (DatabaseError) -> Void
}

/// A bounded queue between tasks and the threads that own connections.
///
/// The event descriptor counts what waits (`EFD_SEMAPHORE`), so a thread can wait for work and for
/// its connection's socket with one `poll`.
final class JobQueue: Sendable {
    private struct State {
        var jobs: [Job] = []
        var head = 0
        var isClosed = false
        var waiting: Int { jobs.count - head }
    }

    /// More than any pool has threads: closing wakes all of them.
    private static let wakeEveryone: UInt64 = 1 << 20

    let limit: Int
    let event: Int32
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
        event = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE))
        precondition(event >= 0, "no event descriptor can be made")
    }

    deinit { close(event) }

    var count: Int { state.withLock { $0.waiting } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Adds a job, or refuses it.
    ///
    /// - Parameters:
    ///   - job: The work.
    ///   - beyondLimit: For work that stands for many callers who were counted elsewhere.
    func push(_ job: Job, beyondLimit: Bool = false) {
        let refusal: DatabaseError? = state.withLock { state in
            if state.isClosed { return DatabaseError(.closed, "the database was closed") }
            if state.waiting >= limit, !beyondLimit {
                return DatabaseError(.full, "\(limit) jobs wait already")
            }
            state.jobs.append(job)
            return nil
        }
        if let refusal { return job.refuse(refusal) }
        signal(1)
    }

    /// Takes the oldest job.
    func pop() -> Job? {
        var count: UInt64 = 0
        _ = read(event, &count, 8)
        return state.withLock { state in
            guard !state.isClosed, state.waiting > 0 else { return nil }
            let job = state.jobs[state.head]
            state.head += 1
            // Moving the rest once per half keeps a pop constant on average.
            if state.head * 2 >= state.jobs.count {
                state.jobs.removeFirst(state.head)
                state.head = 0
            }
            return job
        }
    }

    /// Refuses all that waits and all that comes, and wakes every thread.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer {
                state.jobs = []
                state.head = 0
            }
            return Array(state.jobs[state.head...])
        }
        for job in waiting { job.refuse(DatabaseError(.closed, "the database was closed")) }
        signal(Self.wakeEveryone)
    }

    private func signal(_ count: UInt64) {
        var count = count
        _ = write(event, &count, 8)
    }

    private func close(_ descriptor: Int32) { _ = CLinux.close(descriptor) }
}
