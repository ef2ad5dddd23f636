internal import Synchronization
public import Telemetry

/// How the transaction of a batch ended.
public enum BatchOutcome: Sendable {
    /// Committed: whatever was prepared in memory is true now.
    case committed
    /// Rolled back, or never begun: what was prepared in memory is dropped.
    case rolledBack(DatabaseError)
    /// The connection ended during COMMIT: memory of what the batch touched is dropped and loaded
    /// again.
    case unknown(DatabaseError)
}

/// Commits everything that waits in one transaction and answers each caller after the COMMIT.
///
/// It needs no timer: with one caller each item is committed at once, with many the next batch is
/// what arrived during the last COMMIT. A statement that fails is retried item by item, so that one
/// bad item fails only its own caller.
public final class CoalescingWriter<Item: Sendable, Answer: Sendable>: Sendable {
    /// Stores a batch inside a transaction and gives each item its answer, in their order.
    ///
    /// A `.failure` is an answer like any other: it does not roll the transaction back.
    public typealias Commit =
        @Sendable (Connection, [Item]) throws(DatabaseError) -> [Result<Answer, any Error>]

    /// Hears how each transaction ended, on the connection's thread, before callers are answered.
    public typealias Settled = @Sendable ([Item], BatchOutcome) -> Void

    private typealias Reply = Result<Answer, any Error>

    private struct Entry {
        let item: Item
        let answer: @Sendable (Reply) -> Void
    }

    private struct State {
        var entries: [Entry] = []
        var isScheduled = false
    }

    private let connection: DedicatedConnection
    private let batchLimit: Int
    private let queueLimit: Int
    private let commit: Commit
    private let settled: Settled
    private let state = Mutex(State())
    private let batches: Histogram
    private let seconds: Histogram
    private let refused: Counter
    private let retried: Counter

    /// Makes a writer over a connection, which may do other work too, in turn with the batches.
    ///
    /// - Parameters:
    ///   - connection: Where the transactions run; the caller closes it, after which every `write`
    ///     ends with kind `closed`.
    ///   - name: What the metrics' `writer` label says.
    ///   - batchLimit: At most how many items are in one transaction. A hundred batches of twelve
    ///     rows reach nine tenths of the best throughput and keep one transaction below 30 ms.
    ///   - queueLimit: At most how many items wait; beyond it callers get kind `full`. 2,000 is
    ///     about half a second of work for one connection.
    ///   - metrics: Shows batch sizes, their time, what was refused and what was retried.
    ///   - commit: Stores a batch inside a transaction.
    ///   - settled: Hears how each transaction ended, before its callers are answered.
    public init(
        over connection: DedicatedConnection,
        name: String,
        batchLimit: Int = 100,
        queueLimit: Int = 2000,
        metrics: Metrics = Metrics(),
        commit: @escaping Commit,
        settled: @escaping Settled = { _, _ in }
    ) {
        precondition(batchLimit > 0 && queueLimit > 0, "a writer takes at least one item")
        self.connection = connection
        self.batchLimit = batchLimit
        self.queueLimit = queueLimit
        self.commit = commit
        self.settled = settled
        batches = metrics.histogram(
            "database_writer_batch_items",
            help: "Items committed in one transaction.",
            labels: ["writer": name],
            bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500]
        )
        seconds = metrics.histogram(
            "database_writer_transaction_seconds",
            help: "Time from BEGIN to the answer of COMMIT.",
            labels: ["writer": name]
        )
        refused = metrics.counter(
            "database_writer_refused_total",
            help: "Items that found the queue full.",
            labels: ["writer": name]
        )
        retried = metrics.counter(
            "database_writer_retried_batches_total",
            help: "Batches that failed and were tried item by item.",
            labels: ["writer": name]
        )
    }

    /// The number of items that wait.
    public var waiting: Int { state.withLock { $0.entries.count } }

    /// Stores an item with whatever else waits.
    ///
    /// - Parameter item: What to store.
    /// - Returns: The item's answer, after COMMIT.
    /// - Throws: The item's failure; or ``DatabaseError``: `full`, `closed` and `connection` when
    ///   nothing was stored, `outcomeUnknown` when the connection ended during COMMIT, `statement`
    ///   when the server refused this item.
    public func write(_ item: Item) async throws -> Answer {
        let reply: Reply = await withCheckedContinuation { continuation in
            write(item) { continuation.resume(returning: $0) }
        }
        return try reply.get()
    }

    /// Stores an item with whatever else waits, without waiting for it.
    ///
    /// - Parameters:
    ///   - item: What to store.
    ///   - answer: Is called once with what the other ``write(_:)`` returns or throws: on the connection's thread,
    ///     or before this returns when the item is refused at once. It must not wait.
    public func write(
        _ item: Item,
        _ answer: @escaping @Sendable (Result<Answer, any Error>) -> Void
    ) {
        let entry = Entry(item: item, answer: answer)
        let (isAccepted, mustSchedule) = state.withLock { state in
            guard state.entries.count < queueLimit else { return (false, false) }
            state.entries.append(entry)
            defer { state.isScheduled = true }
            return (true, !state.isScheduled)
        }
        if mustSchedule { schedule() }
        guard !isAccepted else { return }
        refused.add()
        answer(.failure(DatabaseError(.full, "\(queueLimit) items wait already")))
    }

    // MARK: - On the connection's thread

    /// At most one job per writer, so it may go beyond the limit of the connection's queue.
    private func schedule() {
        connection.queue.push(
            Job(run: { self.drain($0) }, refuse: { self.refuseAll($0) }),
            beyondLimit: true
        )
    }

    private func drain(_ connection: Connection) {
        let entries = state.withLock { state in
            let count = min(batchLimit, state.entries.count)
            defer { state.entries.removeFirst(count) }
            return Array(state.entries.prefix(count))
        }
        if !entries.isEmpty { store(entries, connection) }
        // One batch a turn: other work on the connection goes between two batches.
        let mustSchedule = state.withLock { state in
            state.isScheduled = !state.entries.isEmpty
            return state.isScheduled
        }
        if mustSchedule { schedule() }
    }

    private func refuseAll(_ error: DatabaseError) {
        let entries = state.withLock { state in
            defer {
                state.entries = []
                state.isScheduled = false
            }
            return state.entries
        }
        guard !entries.isEmpty else { return }
        settled(entries.map(\.item), .rolledBack(error))
        answer(entries, error)
    }

    private func store(_ entries: [Entry], _ connection: Connection) {
        do throws(DatabaseError) {
            let replies = try transaction(entries, connection)
            for (entry, reply) in zip(entries, replies) {
                entry.answer(reply)
            }
        } catch  where error.kind == .statement && (entries.count > 1 || error.isRetryable) {
            retried.add()
            storeOneByOne(entries, connection)
        } catch {
            answer(entries, error)
        }
    }

    private func storeOneByOne(_ entries: [Entry], _ connection: Connection) {
        for (index, entry) in entries.enumerated() {
            do throws(DatabaseError) {
                let replies = try transaction([entry], connection)
                entry.answer(replies[0])
            } catch  where error.kind == .statement {
                answer([entry], error)
            } catch {
                answer([entry], error)
                // Those behind were not begun, whatever became of this one.
                let rest = Array(entries[(index + 1)...])
                let reason = DatabaseError(.connection, error.message, sqlState: error.sqlState)
                if !rest.isEmpty { settled(rest.map(\.item), .rolledBack(reason)) }
                return answer(rest, reason)
            }
        }
    }

    private func transaction(
        _ entries: [Entry],
        _ connection: Connection
    ) throws(DatabaseError) -> [Reply] {
        let items = entries.map(\.item)
        let begin = Timestamps.monotonicNanoseconds()
        do throws(DatabaseError) {
            let replies = try connection.transaction { () throws(DatabaseError) in
                let replies = try commit(connection, items)
                precondition(replies.count == items.count, "each item has one answer")
                return replies
            }
            seconds.observe(Double(Timestamps.monotonicNanoseconds() - begin) / 1e9)
            batches.observe(Double(items.count))
            settled(items, .committed)
            return replies
        } catch {
            settled(items, error.kind == .outcomeUnknown ? .unknown(error) : .rolledBack(error))
            throw error
        }
    }

    private func answer(_ entries: [Entry], _ error: DatabaseError) {
        for entry in entries { entry.answer(.failure(error)) }
    }
}
