internal import Messages
internal import RealtimeFeed
internal import Synchronization
internal import Telemetry
internal import Transit

/// Keeps what was heard and the feed that was built from it.
final class FeedPublisher: Sendable {
    /// How often the feed is built (spec 0).
    static let period = Duration.seconds(1)

    private struct State {
        var board = EstimateBoard()
        var builder = FeedBuilder()
        var published = PublishedFeed(
            FeedMessage(
                header: FeedHeader(
                    gtfsRealtimeVersion: "2.0",
                    incrementality: .fullDataset,
                    timestamp: 0
                )
            )
        )
    }

    private let maxAge: Int64
    private let drivers: @Sendable (UnixSeconds) -> [LiveVehicle]
    private let metrics: Metrics
    private let state = Mutex(State())
    private let undecodable: Counter
    private let builds: Counter
    private let withheld = Mutex<[String: Counter]>([:])

    /// Makes a publisher.
    ///
    /// - Parameters:
    ///   - maxAge: Seconds after which an estimate is left out.
    ///   - metrics: Counts builds and what they left out.
    ///   - drivers: The drivers' reports of a moment, fresh and one for each trip, by vehicle.
    init(
        maxAge: Int64,
        metrics: Metrics,
        drivers: @escaping @Sendable (UnixSeconds) -> [LiveVehicle] = { _ in [] }
    ) {
        self.maxAge = maxAge
        self.drivers = drivers
        self.metrics = metrics
        undecodable = metrics.counter(
            "feed_estimates_undecodable_total",
            help: "Estimates on the bus that were not understood."
        )
        builds = metrics.counter("feed_builds_total", help: "Feeds that differed from the last.")
        metrics.gauge("feed_entities_items", help: "Entities in the feed.") { [weak self] in
            Double(self?.published.entityCount ?? 0)
        }
    }

    /// The feed of the moment.
    var published: PublishedFeed { state.withLock { $0.published } }

    /// Hears a slot's estimates.
    func heard(_ body: [UInt8]) {
        guard let estimates = try? Estimates(decoding: body) else {
            undecodable.add()
            return
        }
        _ = state.withLock { $0.board.hear(estimates) }
    }

    /// Builds the feed of this second; when nothing changed the last one stands.
    func tick(at now: UnixSeconds) {
        let drivers = drivers(now)
        let build = state.withLock { state -> FeedBuilder.Build? in
            let estimates = state.board.fresh(at: now, maxAge: maxAge)
            guard let build = state.builder.tick(estimates, drivers: drivers, at: now) else {
                return nil
            }
            state.published = PublishedFeed(build.message)
            return build
        }
        guard let build else { return }
        builds.add()
        for (rule, count) in build.withheld { counter(of: rule).add(count) }
    }

    private func counter(of rule: String) -> Counter {
        withheld.withLock { counters in
            if let counter = counters[rule] { return counter }
            let counter = metrics.counter(
                "feed_entities_withheld_total",
                help: "Entities left out because they broke a rule of GTFS-Realtime.",
                labels: ["rule": rule]
            )
            counters[rule] = counter
            return counter
        }
    }
}
