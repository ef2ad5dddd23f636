internal import Database
internal import Prediction
internal import Schedule
internal import Synchronization
internal import Telemetry
internal import Transit

/// Keeps what the builder learns of travel times, so that a successor does not begin with the schedule's.
final class TravelTimeKeeper: Sendable {
    /// How often it is written: what a crash loses at most.
    static let interval = Duration.seconds(60)

    private let publisher: FeedPublisher
    private let database: Database
    /// Under which epoch this process builds; nil while it does not.
    private let epoch: @Sendable () -> UInt64?
    private let now: @Sendable () -> UnixSeconds
    private let logger: Logger
    /// The turn whose beginning was made with what was stored.
    private let begun = Mutex<UInt64?>(nil)

    init(
        publisher: FeedPublisher,
        database: Database,
        epoch: @escaping @Sendable () -> UInt64?,
        now: @escaping @Sendable () -> UnixSeconds,
        logger: Logger
    ) {
        self.publisher = publisher
        self.database = database
        self.epoch = epoch
        self.now = now
        self.logger = logger
    }

    /// Reads at the beginning of each turn and writes at each interval until the task is cancelled,
    /// then once more.
    func run() async {
        var waited = Duration.zero
        while !Task.isCancelled {
            await begin()
            do { try await Task.sleep(for: .seconds(1)) } catch { break }
            waited += .seconds(1)
            guard waited >= Self.interval else { continue }
            waited = .zero
            await save()
        }
        // A task of its own: it does not see the cancellation.
        await Task { await save() }.value
    }

    /// Takes over what was stored, once in each turn.
    func begin() async {
        guard let epoch = epoch(), begun.withLock({ $0 }) != epoch else { return }
        let horizon = horizon
        do throws(DatabaseError) {
            let learned = try await database.withConnection { connection throws(DatabaseError) in
                try TravelTimeStore.load(since: horizon, on: connection)
            }
            let publisher = publisher
            await WorkerThread.run { publisher.adopt(learned) }
            begun.withLock { $0 = epoch }
        } catch {
            log("travel times cannot be read yet", error)
        }
    }

    /// Writes what was learned since the last time, while this process builds.
    func save() async {
        guard epoch() != nil else { return }
        let publisher = publisher
        let learned = await WorkerThread.run { publisher.takeLearned() }
        guard !learned.isEmpty else { return }
        let horizon = horizon
        do throws(DatabaseError) {
            try await database.transaction { connection throws(DatabaseError) in
                try TravelTimeStore.save(learned, forgettingBefore: horizon, on: connection)
            }
        } catch {
            // Each stretch is written whole at its next passage.
            log("travel times are not written", error)
        }
    }

    private var horizon: UnixSeconds { now() - PredictionRules().memorySeconds }

    private func log(_ sentence: String, _ error: DatabaseError) {
        logger.debug(sentence, ["error": .text(error.description)])
    }
}
