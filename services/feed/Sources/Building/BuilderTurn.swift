internal import Bus
internal import Database
internal import Messages
internal import Schedule
internal import Synchronization
internal import Telemetry
internal import Transit

/// This process's part in building the feed: stands by, builds while it is its turn, hears who else does.
final class BuilderTurn: Sendable {
    /// How long the first feed after a start waits for those who have something for it: a verifier or an
    /// agency that is away must not keep drivers out.
    static let patience = Duration.seconds(3)

    private let publisher: FeedPublisher
    private let lock: BuilderLock
    private let poller: AgencyPoller?
    private let pollPeriod: Duration
    private let clock: @Sendable () -> UnixSeconds
    private let voice: BuilderVoice
    private let reachesReplicas: @Sendable () async -> Bool?
    private let logger: Logger
    private let heard = Mutex<[String: [UInt8]]>([:])
    private let healthSequence = Atomic<UInt64>(0)
    private let news: AsyncStream<Void>
    private let newsCame: AsyncStream<Void>.Continuation

    /// Makes the part; nothing runs yet.
    ///
    /// - Parameters:
    ///   - publisher: Builds and keeps the newest feeds.
    ///   - lock: Says whose turn it is.
    ///   - poller: Asks the agencies; nil without any.
    ///   - pollPeriod: `TRUSTED_FEED_POLL`.
    ///   - clock: The application clock.
    ///   - voice: Tells the other services.
    ///   - reachesReplicas: Whether any other replica answers; nil where there is none.
    ///   - logger: Hears of a database that is away.
    init(
        publisher: FeedPublisher,
        lock: BuilderLock,
        poller: AgencyPoller?,
        pollPeriod: Duration,
        clock: @escaping @Sendable () -> UnixSeconds,
        voice: BuilderVoice,
        reachesReplicas: @escaping @Sendable () async -> Bool?,
        logger: Logger
    ) {
        self.publisher = publisher
        self.lock = lock
        self.poller = poller
        self.pollPeriod = pollPeriod
        self.clock = clock
        self.voice = voice
        self.reachesReplicas = reachesReplicas
        self.logger = logger
        (news, newsCame) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - Hearing

    /// Hears a feed of another builder; called on the bus thread, so the work is done elsewhere.
    func heardBuilt(_ body: [UInt8], key: String) {
        heard.withLock { $0[key] = body }
        newsCame.yield()
    }

    /// Hears a snapshot of another builder.
    func heardTrusted(_ body: [UInt8]) { lock.heard(epoch: publisher.heardTrusted(body)) }

    /// Takes over what was heard until the task is cancelled.
    func followOthers() async {
        for await _ in news {
            let bodies = heard.withLock { heard in
                defer { heard = [:] }
                return heard
            }
            for (key, body) in bodies {
                let publisher = publisher
                let epoch = await WorkerThread.run { publisher.heardBuilt(body, key: key) }
                lock.heard(epoch: epoch)
            }
            voice.fallSilent()
        }
    }

    // MARK: - Building

    /// Stands for the lock until the task is cancelled, then gives it back.
    func standForLock() async {
        while !Task.isCancelled {
            await stepTowardsLock()
            try? await Task.sleep(for: BuilderLock.period)
        }
        await Task { [lock] in await lock.close() }.value
    }

    private func stepTowardsLock() async {
        do throws(DatabaseError) {
            try await lock.step()
        } catch {
            logger.debug(
                "the builder's lock waits for the database",
                [
                    "error": .text(error.description)
                ]
            )
        }
        voice.fallSilent()
    }

    /// Watches, until the task is cancelled, whether this process is cut off.
    ///
    /// Losing the database stops no builder, as nobody could take over either. Who reaches no other replica
    /// besides may be the one that is cut off, while another builds.
    func watchContact() async {
        let wakefulness = publisher.board.wakefulness
        let patience = UInt64(BuilderLock.silenceSeconds * 1e9)
        while !Task.isCancelled {
            let now = Timestamps.monotonicNanoseconds()
            let isSilent = now - min(now, lock.answeredAt) > patience
            let isCutOff = isSilent ? await reachesReplicas() == false : false
            wakefulness.isCutOff(isCutOff, at: Timestamps.monotonicNanoseconds())
            try? await Task.sleep(for: FeedPublisher.period)
        }
    }

    /// Builds each second while it is this process's turn, until the task is cancelled.
    func build() async {
        let wakefulness = publisher.board.wakefulness
        await waitUntilInformed()
        while !Task.isCancelled {
            if wakefulness.beat(at: Timestamps.monotonicNanoseconds()), lock.epoch != nil {
                // Who was frozen may have been replaced; the lock's session knows.
                if await isStillOurs() { wakefulness.missedNothing() }
            }
            if let epoch = lock.epoch { await tick(epoch) }
            try? await Task.sleep(for: FeedPublisher.period)
        }
    }

    /// Waits for all that the first feed consists of; until then readers hear 503, not that vehicles are
    /// gone.
    private func waitUntilInformed() async {
        let deadline = ContinuousClock.now + Self.patience
        while !publisher.isInformed, !publisher.board.hasFeed, ContinuousClock.now < deadline,
            !Task.isCancelled
        {
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Whether the lock is still held after a freeze, or nobody can tell as the database is away.
    private func isStillOurs() async -> Bool {
        let before = lock.epoch
        // The first look may be the one that finds the session cut off.
        for _ in 0..<3 {
            do throws(DatabaseError) {
                try await lock.step()
                break
            } catch {
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
        return lock.epoch != nil && lock.epoch == before
    }

    private func tick(_ epoch: UInt64) async {
        let publisher = publisher
        let now = clock()
        let lock = lock
        let messages = await WorkerThread.run {
            publisher.tick(at: now, epoch: epoch, while: { lock.epoch == epoch })
        }
        voice.tell(messages, of: epoch)
    }

    /// Asks the agencies while it is this process's turn, until the task is cancelled.
    func pollAgencies() async {
        guard let poller else { return await tellOfNone() }
        await poller.run(
            every: pollPeriod,
            polled: { self.tellHealth() }
        )
    }

    /// Tells once in each turn that there are no agencies.
    private func tellOfNone() async {
        var told: UInt64?
        while !Task.isCancelled {
            if let epoch = lock.epoch, epoch != told {
                tellHealth()
                told = epoch
            }
            try? await Task.sleep(for: AgencyPoller.turnPeriod)
        }
    }

    /// Tells the other services how the polling goes, also that there is nothing to poll.
    private func tellHealth() {
        guard let epoch = lock.epoch else { return }
        let sequence = healthSequence.wrappingAdd(1, ordering: .relaxed).newValue
        let health = AgencyFeeds(
            instance: publisher.instance,
            epoch: epoch,
            sequence: sequence,
            feeds: (poller?.feeds ?? []).map { feed in
                AgencyFeeds.Feed(
                    url: feed.url,
                    lastSuccess: feed.lastSuccess,
                    lastError: feed.lastError,
                    entities: feed.reading.vehicles.count
                )
            }
        )
        let message = FeedPublisher.Message(
            topic: BusTopics.agencies,
            key: "",
            body: health.encoded()
        )
        voice.tell([message], of: epoch)
    }
}
