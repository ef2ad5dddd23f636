internal import Database
internal import Telemetry

/// Looks at rows that other replicas write: when it is told, and at each interval in any case.
///
/// What tells it may be lost; the interval heals that. While the database is away what was known
/// stays known.
struct RowFollower: Sendable {
    /// The shortest time between two looks: many changes at once cost few looks.
    static let shortestPause = Duration.milliseconds(100)

    private let name: String
    private let interval: Duration
    private let logger: Logger
    private let look: @Sendable (_ isWhole: Bool) async throws(DatabaseError) -> Void
    private let ticks: AsyncStream<Bool>
    private let continuation: AsyncStream<Bool>.Continuation

    /// Makes a follower.
    ///
    /// - Parameters:
    ///   - name: What logs call the rows.
    ///   - interval: Between two looks that nothing asked for.
    ///   - logger: Told when looks begin to fail and when they work again.
    ///   - look: Reads the rows; told whether all of them or what changed since the last time.
    init(
        _ name: String,
        every interval: Duration,
        logger: Logger,
        look: @escaping @Sendable (_ isWhole: Bool) async throws(DatabaseError) -> Void
    ) {
        self.name = name
        self.interval = interval
        self.logger = logger
        self.look = look
        (ticks, continuation) = AsyncStream.makeStream(
            of: Bool.self,
            bufferingPolicy: .bufferingNewest(1)
        )
    }

    /// Tells it that rows have changed.
    func wake() { continuation.yield(false) }

    /// Looks until the task is cancelled.
    func run() async {
        let ticker = Task {
            while !Task.isCancelled {
                continuation.yield(true)
                try? await Task.sleep(for: interval)
            }
        }
        defer { ticker.cancel() }
        var isFailing = false
        var mustBeWhole = true
        for await isWhole in ticks {
            do throws(DatabaseError) {
                try await look(isWhole || mustBeWhole)
                if isFailing { logger.info("rows can be read again", ["rows": .text(name)]) }
                isFailing = false
                mustBeWhole = false
            } catch {
                mustBeWhole = true
                if !isFailing, !Task.isCancelled {
                    logger.warning(
                        "rows cannot be read; what is known stays",
                        ["rows": .text(name), "error": .text(error.description)]
                    )
                }
                isFailing = true
            }
            try? await Task.sleep(for: Self.shortestPause)
        }
    }
}
