internal import Glibc
internal import Synchronization
internal import Telemetry
internal import Web

/// Hashes passwords on threads of its own, so that log-ins can exhaust neither cores nor memory.
///
/// At most ``callerLimit`` callers are let in at once, before they touch the database; more are
/// answered 503 and counted. Each waits for at most one hash, so the queue is as bounded, and the
/// memory is that of one hash for each thread.
final class PasswordWorker: Sendable {
    /// Callers let in at once: what one thread hashes within a request's deadline of 10 s.
    static let callerLimit = 64
    /// What a refused caller is told to wait: half of a full queue.
    static let retryAfterSeconds = 3

    /// The costs of new hashes.
    let costs: Argon2Costs
    /// What an unknown identity is verified against, so that it takes as long as a known one.
    private let dummyHash: String
    private let queue = HashQueue()
    private let admission = Admission()
    private let refused: Counter
    private let hashTimes: Histogram

    /// Starts the threads, and computes one hash on the caller's.
    ///
    /// - Parameters:
    ///   - costs: The costs of new hashes.
    ///   - threads: Hashes that are computed at once.
    ///   - metrics: Where refused callers and the time of hashes are counted.
    init(costs: Argon2Costs, threads: Int, metrics: Metrics) {
        self.costs = costs
        guard let dummyHash = Argon2.hash(Sodium.randomBytes(16), costs) else {
            preconditionFailure("no memory for one password hash of \(costs.memoryKiB) KiB")
        }
        self.dummyHash = dummyHash
        refused = metrics.counter(
            "password_callers_refused_total",
            help: "Callers refused because as many as are let in were waiting for a hash."
        )
        hashTimes = metrics.histogram(
            "password_hash_seconds",
            help: "Time to compute one password hash, waiting not included."
        )
        let admission = admission
        metrics.gauge(
            "password_callers_waiting",
            help: "Callers let in, whose hash waits or is computed."
        ) { Double(admission.count) }
        for _ in 0..<threads { startHashThread(queue) }
    }

    deinit { queue.close() }

    /// Lets a caller in, or refuses it at once.
    ///
    /// - Parameter body: Everything that the call does, database work included.
    /// - Returns: What `body` returns.
    /// - Throws: 503 with `Retry-After` when nobody more is let in, or what `body` throws.
    func admit<Value: Sendable>(
        _ body: () async throws -> Value
    ) async throws -> Value {
        guard admission.enter(limit: Self.callerLimit) else {
            refused.add()
            throw HTTPError.passwordsBusy
        }
        defer { admission.leave() }
        return try await body()
    }

    /// Hashes a new password; for callers that were let in.
    ///
    /// - Parameters:
    ///   - password: The new password, checked.
    ///   - deadline: When nobody waits for the answer any more.
    /// - Returns: The text to store.
    /// - Throws: 503 when the deadline comes first, 500 without memory.
    func hash(_ password: String, by deadline: ContinuousClock.Instant) async throws -> String {
        let costs = costs
        let hash = try await run(by: deadline) { Argon2.hash(Array(password.utf8), costs) }
        guard let hash else { throw HTTPError.failure }
        return hash
    }

    /// Verifies a password; for callers that were let in.
    ///
    /// - Parameters:
    ///   - password: What somebody says it is.
    ///   - hash: The account's; nil for an unknown identity, which takes as long and is false.
    ///   - deadline: When nobody waits for the answer any more.
    /// - Returns: Whether it is the password of `hash`.
    /// - Throws: 503 when the deadline comes first.
    func verify(
        _ password: String,
        against hash: String?,
        by deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        let stored = hash ?? dummyHash
        let isEqual = try await run(by: deadline) {
            Argon2.verify(Array(password.utf8), against: stored)
        }
        return isEqual && hash != nil
    }

    /// Whether a hash was made with other costs than new ones are.
    func needsRehash(_ hash: String) -> Bool { Argon2.needsRehash(hash, costs) }

    private func run<Value: Sendable>(
        by deadline: ContinuousClock.Instant,
        _ work: @escaping @Sendable () -> Value
    ) async throws -> Value {
        let times = hashTimes
        let value: Value? = await withCheckedContinuation { continuation in
            queue.push { isOpen in
                guard isOpen, .now < deadline else { return continuation.resume(returning: nil) }
                let start = Timestamps.monotonicNanoseconds()
                let value = work()
                times.observe(Double(Timestamps.monotonicNanoseconds() - start) / 1e9)
                continuation.resume(returning: value)
            }
        }
        guard let value else { throw HTTPError.passwordsBusy }
        return value
    }
}

extension HTTPError {
    /// 503 when nobody more can wait for a hash.
    static let passwordsBusy = HTTPError(
        status: 503,
        code: "passwords.busy",
        message: "too many log-ins at once, try again",
        retryAfter: PasswordWorker.retryAfterSeconds
    )
}

/// How many callers are let in.
private final class Admission: Sendable {
    private let inside = Mutex(0)

    var count: Int { inside.withLock { $0 } }

    func enter(limit: Int) -> Bool {
        inside.withLock { inside in
            guard inside < limit else { return false }
            inside += 1
            return true
        }
    }

    func leave() { inside.withLock { $0 -= 1 } }
}

// MARK: - Threads

/// What waits for a hash thread; bounded by who is let in.
private final class HashQueue: Sendable {
    /// Does its work, or with false only says that it will not.
    typealias Job = @Sendable (_ isOpen: Bool) -> Void

    private struct State {
        var jobs: [Job] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wake = Semaphore()

    func push(_ job: @escaping Job) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.jobs.append(job) }
            return state.isClosed
        }
        if isClosed { job(false) } else { wake.signal() }
    }

    /// The oldest job; waits for one.
    ///
    /// - Returns: nil once the queue is closed.
    func next() -> Job? {
        wake.wait()
        let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
        // Closing wakes one thread, and each wakes the next.
        if job == nil { wake.signal() }
        return job
    }

    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in waiting { job(false) }
        wake.signal()
    }
}

/// A counting semaphore of the system.
///
/// `@unchecked Sendable`: the memory is the system's to synchronise, and lives as long as this.
private final class Semaphore: @unchecked Sendable {
    private let storage = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(storage, 0, 0) }

    deinit {
        sem_destroy(storage)
        storage.deallocate()
    }

    func signal() { sem_post(storage) }

    func wait() { while sem_wait(storage) != 0 {} }
}

private func startHashThread(_ queue: HashQueue) {
    var thread = pthread_t()
    let failure = pthread_create(
        &thread,
        nil,
        hashThreadMain,
        Unmanaged.passRetained(queue).toOpaque()
    )
    // Only at the start, and only when the machine has no room for a thread.
    precondition(failure == 0, "no thread can be started: \(String(cString: strerror(failure)))")
    pthread_detach(thread)
}

private func hashThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let queue = Unmanaged<HashQueue>.fromOpaque(argument).takeRetainedValue()
    // Signals belong to the main thread.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    while let job = queue.next() { job(true) }
    return nil
}
