internal import Messages
internal import Prediction
internal import RealtimeFeed
internal import Synchronization
internal import Telemetry
internal import Transit

/// Keeps what was heard, builds the feeds while it is this process's turn, and has the newest ones ready.
final class FeedPublisher: Sendable {
    /// How often the feed is built (spec 0).
    static let period = Duration.seconds(1)

    /// Where the knowledge comes from.
    struct Sources: Sendable {
        /// This process on the bus.
        var instance = "feed"
        var rules = FeedAssembly.Rules()
        /// All live reports of drivers at a moment, by vehicle.
        var drivers: @Sendable (UnixSeconds) -> [LiveVehicle] = { _ in [] }
        /// The agencies' feeds with a number that rises when they say something else.
        var agencies: @Sendable () -> (feeds: [AgencyFeed], version: UInt64) = { ([], 0) }
        /// The schedule in use.
        var schedule: @Sendable () -> ScheduleIndex? = { nil }
        /// Whether verifiers tell estimates (`RIDER_MODE_ENABLED`).
        var hasRiders = true
    }

    /// What goes to the other services.
    struct Message: Sendable {
        let topic: String
        let key: String
        let body: [UInt8]
    }

    private struct Heard {
        var estimates = EstimateBoard()
        var inherited = InheritedTrust()
    }

    private struct Work {
        var assembly: FeedAssembly
        var epoch: UInt64 = 0
        /// The turn from which on nobody else has built; what agencies said before does not count.
        var since: UInt64 = 0
        var tick: UInt64 = 0
    }

    let board: FeedBoard
    private let sources: Sources
    private let metrics: FeedMetrics
    private let heard = Mutex(Heard())
    private let work: Mutex<Work>

    /// Makes a publisher.
    ///
    /// - Parameters:
    ///   - sources: Where the knowledge comes from.
    ///   - board: Gets what is built here.
    ///   - metrics: Counts builds and what they left out.
    init(_ sources: Sources, board: FeedBoard = FeedBoard(), metrics: Metrics) {
        self.sources = sources
        self.board = board
        self.metrics = FeedMetrics(metrics, board: board)
        work = Mutex(Work(assembly: FeedAssembly(sources.rules)))
    }

    /// This process on the bus.
    var instance: String { sources.instance }

    /// The positions of the moment.
    var published: PublishedFeed { board.feed(.vehiclePositions) }

    /// Hears a slot's estimates.
    func heard(_ body: [UInt8]) {
        guard let estimates = try? Estimates(decoding: body) else {
            return metrics.undecodable.add()
        }
        heard.withLock { _ = $0.estimates.hear(estimates) }
    }

    /// Hears what another builder says of trusted vehicles.
    ///
    /// - Returns: Its epoch.
    func heardTrusted(_ body: [UInt8]) -> UInt64 {
        guard let message = try? TrustedVehicles(decoding: body) else {
            metrics.undecodable.add()
            return 0
        }
        heard.withLock { $0.inherited.hear(message) }
        return message.epoch
    }

    /// Hears a feed that another builder made.
    ///
    /// - Returns: Its epoch.
    func heardBuilt(_ body: [UInt8], key: String) -> UInt64 {
        guard let kind = FeedKind(rawValue: key), let built = try? BuiltFeed(decoding: body) else {
            metrics.undecodable.add()
            return 0
        }
        board.take(built, kind)
        return built.epoch
    }

    /// Whether everyone was heard who has something for the feed: the owner of each slot, and each agency.
    ///
    /// A feed that is built before would take vehicles away that are only not known here yet.
    var isInformed: Bool {
        let hasEstimates = !sources.hasRiders || heard.withLock { $0.estimates.isComplete }
        return hasEstimates && sources.agencies().feeds.allSatisfy(\.wasTried)
    }

    /// Builds the feeds of this second; when nothing changed the last ones stand.
    ///
    /// Takes its time: not for the cooperative pool nor the HTTP loop.
    ///
    /// - Parameters:
    ///   - now: The application clock.
    ///   - epoch: Under which this process builds.
    ///   - isOurTurn: Asked when all is built: what nobody else will hear of is served to nobody here, either.
    /// - Returns: What the other services are told.
    @discardableResult
    func tick(
        at now: UnixSeconds,
        epoch: UInt64 = 1,
        while isOurTurn: () -> Bool = { true }
    ) -> [Message] {
        let agencies = sources.agencies()
        let (estimates, inherited) = heard.withLock { ($0.estimates, $0.inherited) }
        var known = FeedAssembly.Knowledge(
            estimates: estimates,
            inherited: inherited,
            agenciesVersion: agencies.version,
            drivers: sources.drivers(now),
            schedule: sources.schedule()
        )
        let stamp = BuilderStamp(instance: sources.instance, epoch: epoch)
        return work.withLock { work in
            if work.epoch != epoch { begin(&work, epoch, inherited) }
            known.agencies = agencies.feeds.map { $0.asked(since: work.since) }
            let outcome = work.assembly.tick(known, stamp: stamp, at: now)
            guard isOurTurn() else { return [] }
            metrics.count(outcome)
            var messages: [Message] = []
            for (kind, build) in [
                (FeedKind.vehiclePositions, outcome.positions),
                (.tripUpdates, outcome.tripUpdates),
            ] {
                guard let build else { continue }
                work.tick += 1
                let built = BuiltFeed(build, stamp: stamp, tick: work.tick)
                board.take(built, kind)
                messages.append(
                    Message(topic: BusTopics.built, key: kind.rawValue, body: built.encoded())
                )
            }
            if let trusted = outcome.trusted {
                messages.append(
                    Message(topic: BusTopics.trusted, key: "", body: trusted.encoded())
                )
            }
            return messages
        }
    }

    /// What was learned of travel times since the last call.
    func takeLearned() -> [SegmentTimes.Learned] { work.withLock { $0.assembly.takeLearned() } }

    /// Goes on with what an earlier builder learned of travel times.
    func adopt(_ learned: [SegmentTimes.Learned]) { work.withLock { $0.assembly.adopt(learned) } }

    /// A turn begins: where another builder stopped, this one goes on.
    private func begin(_ work: inout Work, _ epoch: UInt64, _ inherited: InheritedTrust) {
        let positions = board.feed(.vehiclePositions)
        // Who got the lock back before anybody else built knows more than it would inherit.
        let isOthers = max(positions.built.epoch, inherited.epoch) > work.epoch
        if work.epoch == 0 || isOthers { work.since = epoch }
        work.epoch = epoch
        work.tick = 0
        work.assembly.follow(
            positionsHeader: positions.built.headerTimestamp,
            updatesHeader: board.feed(.tripUpdates).built.headerTimestamp,
            agencyEntities: sources.rules.includesAgency ? positions.agencyEntities : []
        )
    }
}

/// What the feed counts.
private struct FeedMetrics: Sendable {
    let undecodable: Counter
    private let builds: Counter
    private let withheld: LabelledCounter
    private let mended: LabelledCounter

    init(_ metrics: Metrics, board: FeedBoard) {
        undecodable = metrics.counter(
            "feed_messages_undecodable_total",
            help: "Estimates, snapshots and feeds on the bus that were not understood."
        )
        builds = metrics.counter("feed_builds_total", help: "Feeds that differed from the last.")
        withheld = LabelledCounter(
            metrics,
            "feed_entities_withheld_total",
            help: "Entities left out because they broke a rule of GTFS-Realtime."
        )
        mended = LabelledCounter(
            metrics,
            "feed_entities_mended_total",
            help: "Entities put right from the schedule because they broke a rule."
        )
        for kind in FeedKind.allCases {
            metrics.gauge(
                "feed_entities_items",
                help: "Entities in the feed.",
                labels: ["feed": kind.rawValue]
            ) { [weak board] in Double(board?.feed(kind).entityCount ?? 0) }
            metrics.gauge(
                "feed_header_timestamp_seconds",
                help: "The header time of the newest feed.",
                labels: ["feed": kind.rawValue]
            ) { [weak board] in Double(board?.feed(kind).built.headerTimestamp ?? 0) }
        }
    }

    func count(_ outcome: FeedAssembly.Outcome) {
        if outcome.positions != nil { builds.add() }
        withheld.add(outcome.withheld)
        mended.add(outcome.mended)
    }
}

/// One counter for each rule, made when it is first needed; the rules are a fixed list.
private final class LabelledCounter: Sendable {
    private let metrics: Metrics
    private let name: String
    private let help: String
    private let counters = Mutex<[String: Counter]>([:])

    init(_ metrics: Metrics, _ name: String, help: String) {
        self.metrics = metrics
        self.name = name
        self.help = help
    }

    func add(_ counts: [String: Int]) {
        for (rule, count) in counts { counter(of: rule).add(count) }
    }

    private func counter(of rule: String) -> Counter {
        counters.withLock { counters in
            if let counter = counters[rule] { return counter }
            let counter = metrics.counter(name, help: help, labels: ["rule": rule])
            counters[rule] = counter
            return counter
        }
    }
}
