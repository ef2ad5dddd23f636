internal import RealtimeFeed
internal import Schedule
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Web

/// Asks every configured agency feed and keeps what they said.
final class AgencyPoller: Sendable {
    /// What one answer may cost (spec 1.13); the body is counted after inflating.
    static let limits = HTTPClientLimits(
        bodyBytes: FeedMessage.maximumBytes,
        time: .seconds(15),
        redirects: 5
    )
    /// What one feed may hold; the largest agencies run some 8,000 vehicles at once.
    ///
    /// Every second works with all vehicles of all feeds, so a feed with more is refused as a whole, and what it said
    /// before stands until it is too old.
    static let feedLimits = FeedLimits(
        entities: 100_000,
        vehicles: 20_000,
        stopTimes: 1_000_000
    )
    /// How often a process looks whether it is its turn.
    static let turnPeriod = Duration.milliseconds(200)
    /// Characters of a reason in health: an agency's words are not ours.
    private static let reasonLength = 200

    private struct State {
        var feeds: [AgencyFeed]
        /// In which turn a poll began last, and when the first of that turn did.
        var turn: (epoch: UInt64, begunAt: UnixSeconds)?
        /// Rises whenever what is known may have changed.
        var version: UInt64 = 1
    }

    private let client: HTTPClient
    private let limits: HTTPClientLimits
    private let clock: @Sendable () -> UnixSeconds
    private let turn: @Sendable () -> UInt64?
    private let logger: Logger
    private let state: Mutex<State>
    private let polls: [(good: Counter, bad: Counter)]

    /// Makes a poller; nothing is asked yet.
    ///
    /// - Parameters:
    ///   - urls: The feeds, in the order of the configuration.
    ///   - clock: The application clock.
    ///   - turn: The epoch under which this process builds, and so is to ask; nil while another does.
    ///   - limits: What one answer may cost.
    ///   - logger: Hears when a feed fails and when it works again.
    ///   - metrics: Counts polls and shows ages, by the feed's place in the configuration.
    init(
        urls: [String],
        clock: @escaping @Sendable () -> UnixSeconds,
        turn: @escaping @Sendable () -> UInt64?,
        limits: HTTPClientLimits = AgencyPoller.limits,
        logger: Logger,
        metrics: Metrics
    ) {
        var configuration = HTTPClientConfiguration()
        // One that hangs holds its place, which must be nobody else's.
        configuration.maximumConcurrent = max(1, urls.count)
        client = HTTPClient(configuration: configuration)
        self.limits = limits
        self.clock = clock
        self.turn = turn
        self.logger = logger
        state = Mutex(State(feeds: urls.map(AgencyFeed.init)))
        polls = urls.indices.map { index in
            func counter(_ outcome: String) -> Counter {
                metrics.counter(
                    "agency_polls_total",
                    help: "Polls of agency feeds, by the feed's place in the configuration.",
                    labels: ["feed": String(index + 1), "outcome": outcome]
                )
            }
            return (counter("ok"), counter("failed"))
        }
        for index in urls.indices {
            metrics.gauge(
                "agency_feed_age_seconds",
                help: "Time since an agency feed was last read, at most since this process asks; "
                    + "-1 when it never read it, or while another process asks.",
                labels: ["feed": String(index + 1)]
            ) { [weak self] in self?.age(of: index) ?? -1 }
        }
    }

    deinit { client.close() }

    /// What is known of each feed, in the order of the configuration.
    var feeds: [AgencyFeed] { state.withLock { $0.feeds } }

    /// Rises whenever ``feeds`` says something else of vehicles.
    var version: UInt64 { state.withLock { $0.version } }

    /// Asks each feed by a rhythm of its own until the task is cancelled.
    ///
    /// One that hangs keeps no other waiting. A turn begins with a poll.
    ///
    /// - Parameters:
    ///   - period: Between the beginnings of two polls of a feed; one that takes longer is followed at once.
    ///   - polled: Called after each poll.
    func run(
        every period: Duration,
        polled: @escaping @Sendable () -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for index in feeds.indices {
                group.addTask { [self] in
                    while !Task.isCancelled {
                        guard let turn = turn() else {
                            try? await Task.sleep(for: Self.turnPeriod)
                            continue
                        }
                        let next = ContinuousClock.now + period
                        await poll(index, in: turn)
                        polled()
                        await rest(until: next, in: turn)
                    }
                }
            }
        }
    }

    /// Waits for the next poll, or for the end of the turn.
    private func rest(until next: ContinuousClock.Instant, in turn: UInt64) async {
        while ContinuousClock.now < next, self.turn() == turn, !Task.isCancelled {
            try? await Task.sleep(until: min(next, ContinuousClock.now + Self.turnPeriod))
        }
    }

    /// Asks one feed once.
    ///
    /// - Parameters:
    ///   - index: Its place in the configuration.
    ///   - turn: In which builder's turn of this process.
    func poll(_ index: Int, in turn: UInt64) async {
        state.withLock { state in
            if state.turn?.epoch != turn { state.turn = (turn, clock()) }
        }
        let answer = await ask(feeds[index])
        // A poll that was cut short says nothing about the feed.
        guard !Task.isCancelled else { return }
        take(answer, index, turn)
    }

    private func ask(_ feed: AgencyFeed) async -> AgencyFeed.Answer {
        do throws(HTTPClientError) {
            let response = try await client.get(
                feed.url,
                headers: feed.conditions,
                limits: limits
            )
            let reading: AgencyFeed.Reading =
                response.status == 200 ? await Self.read(response.body) : .none
            return .response(
                status: response.status,
                etag: response.headers.first("ETag"),
                lastModified: response.headers.first("Last-Modified"),
                reading
            )
        } catch {
            return .failed(String(error.description.prefix(Self.reasonLength)))
        }
    }

    /// Decoding a large feed takes a tenth of a second, so it has a thread.
    private static func read(_ body: [UInt8]) async -> AgencyFeed.Reading {
        await WorkerThread.run {
            do throws(FeedDecodingError) {
                return .feed(AgencyReading(try FeedMessage(decoding: body, within: feedLimits)))
            } catch {
                return .refused(error.description)
            }
        }
    }

    private func take(_ answer: AgencyFeed.Answer, _ index: Int, _ turn: UInt64) {
        let (before, after) = state.withLock { state in
            let before = state.feeds[index]
            let isNew = state.feeds[index].take(answer, at: clock(), turn: turn)
            let after = state.feeds[index]
            // In a new turn what is known of it counts from now on, also if it is the same.
            let isFirst =
                before.triedIn != after.triedIn || before.answeredIn != after.answeredIn
            if isNew || isFirst { state.version += 1 }
            return (before, after)
        }
        (after.lastError.isEmpty ? polls[index].good : polls[index].bad).add()
        guard before.lastError != after.lastError else { return }
        if after.lastError.isEmpty {
            logger.info("agency feed works again", ["feed.number": .integer(index + 1)])
        } else {
            logger.warning(
                "agency feed failed",
                ["feed.number": .integer(index + 1), "error": .text(after.lastError)]
            )
        }
    }

    /// Between our turns another process asked, so that an age from before would be too high.
    private func age(of index: Int) -> Double {
        guard turn() != nil else { return -1 }
        return state.withLock { state in
            guard let success = state.feeds[index].lastSuccess else { return -1 }
            return Double(clock() - max(success, state.turn?.begunAt ?? success))
        }
    }
}
