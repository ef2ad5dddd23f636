internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// The driver half of the feed, assembled: what drivers and admins call, and what keeps it going.
///
/// The rows are the truth. Each replica keeps a copy of the live ones, told by NOTIFY and healed by
/// a whole look now and then, so that a report that any replica accepted is published by all.
struct DriverIntake: Sendable {
    /// What it needs of its process; tests hand in their own.
    struct Surroundings: Sendable {
        let settings: Settings
        let database: Database
        /// For the writer's and the listener's own connections.
        let writing: DatabaseConfiguration
        /// The schedule in use; nil while there is none.
        let schedule: @Sendable () -> ScheduleIndex?
        let accounts: AccountDirectory
        let verifiers: VerifierRollCall
        let now: @Sendable () -> UnixSeconds
        let logger: Logger
        let metrics: Metrics
    }

    /// Between two looks at all live rows: how long a report that NOTIFY lost stays unknown here.
    static let wholeLookInterval = Duration.seconds(5)
    /// Between two looks at the API keys that nothing asked for.
    static let keyInterval = Duration.seconds(30)
    /// Between two notes of when API keys were used (spec 0).
    static let useInterval = Duration.seconds(60)

    let tracker: Tracker
    /// Everything over HTTP but the feed itself.
    let endpoints: [Endpoint]
    /// Who may read the feed.
    let feedAccess: Access
    /// Who decides on readers with a key.
    let apiKeys: any Authorizer
    /// The writer's connection; answers in flight depend on it.
    let foundations: [any Service]
    let services: [any Service]
    /// Answers auth about drivers.
    let desk: DriverDataDesk
    private let rows: LiveRows
    private let retention: LocationRetention
    private let database: Database
    /// The keys; nil when readers need none.
    let keys: APIKeyBoard?

    /// Builds the parts; connections are made in the background.
    init(_ surroundings: Surroundings) {
        let tracker = Tracker(
            staleness: surroundings.settings[FeedSettings.staleness].components.seconds
        )
        let board = APIKeyBoard(now: surroundings.now)
        let connection = DedicatedConnection(
            surroundings.writing,
            name: "writer",
            logger: surroundings.logger,
            metrics: surroundings.metrics
        )
        let writer = ReportWriter(
            over: connection,
            tracker: tracker,
            metrics: surroundings.metrics
        )
        self.tracker = tracker
        apiKeys = board
        let isKeyed = surroundings.settings[FeedSettings.feedAuth]
        feedAccess = isKeyed ? .apiKey : .anyone
        endpoints = Self.endpoints(surroundings, tracker, writer)
        foundations = [ClosingService("writer") { await connection.close() }]
        database = surroundings.database
        keys = isKeyed ? board : nil
        rows = LiveRows(
            database: surroundings.database,
            tracker: tracker,
            now: surroundings.now
        )
        let period = surroundings.settings[FeedSettings.retention].components.seconds
        retention = LocationRetention(
            database: surroundings.database,
            period: period > 0 ? period : nil,
            now: surroundings.now,
            logger: surroundings.logger
        )
        let desk = DriverDataDesk(
            database: surroundings.database,
            now: surroundings.now,
            logger: surroundings.logger
        )
        self.desk = desk
        services =
            Self.services(surroundings, rows, retention, keys)
            + [ClosureService("erasure-marks") { await desk.sweepMarks() }]
        surroundings.metrics.gauge(
            "driver_vehicles_live_items",
            help: "Vehicles with a fresh report of a driver."
        ) { Double(tracker.counts(at: surroundings.now()).active) }
    }

    /// Gets ready to serve: today's partition is there, live vehicles and keys are known.
    ///
    /// What fails is left to the services, which try again.
    func prepare() async {
        await retention.step()
        try? await rows.look(isWhole: true)
        try? await keys?.look(database)
    }

    /// The drivers' reports of a moment, one for each trip.
    func drivers(at now: UnixSeconds) -> DriverArbitration {
        DriverArbitration(tracker.live(at: now))
    }

    private static func endpoints(
        _ surroundings: Surroundings,
        _ tracker: Tracker,
        _ writer: ReportWriter
    ) -> [Endpoint] {
        let database = FeedDatabase(pool: surroundings.database, logger: surroundings.logger)
        let now = surroundings.now
        let accounts = surroundings.accounts
        var all = VehicleEndpoints(database: database, now: now).all
        all += AssignmentEndpoints(database: database, accounts: accounts, now: now).all
        all += DriverTripEndpoints(database: database, accounts: accounts, now: now).all
        all += DriverTripAdminEndpoints(database: database, now: now).all
        all += LocationEndpoints(database: database, writer: writer, now: now).all
        all += APIKeyEndpoints(database: database, now: now).all
        all +=
            CatalogueEndpoints(
                schedule: surroundings.schedule,
                thresholds: FeedSettings.thresholds(surroundings.settings),
                now: now
            ).all
        all += [
            HistoryEndpoint(database: database, now: now).endpoint,
            LiveListEndpoint(database: database, tracker: tracker, now: now).endpoint,
            MapEndpoint(tilesURL: surroundings.settings[FeedSettings.tilesURL]).endpoint,
            StatusEndpoint(
                database: database,
                tracker: tracker,
                verifiers: surroundings.verifiers,
                now: now,
                startedAt: Timestamps.monotonicNanoseconds()
            ).endpoint,
        ]
        return all
    }

    /// What runs besides answering; keys are followed only where readers need one.
    private static func services(
        _ surroundings: Surroundings,
        _ rows: LiveRows,
        _ retention: LocationRetention,
        _ board: APIKeyBoard?
    ) -> [any Service] {
        let database = surroundings.database
        let logger = surroundings.logger
        let live = RowFollower("live vehicles", every: wholeLookInterval, logger: logger) {
            isWhole throws(DatabaseError) in try await rows.look(isWhole: isWhole)
        }
        var followers = [Tracker.channel: live]
        if let board {
            followers[APIKeyStore.channel] = RowFollower(
                "API keys",
                every: keyInterval,
                logger: logger
            ) { _ throws(DatabaseError) in try await board.look(database) }
        }
        var services: [any Service] = [ChangeListener(followers, surroundings)]
        services += followers.sorted { $0.key < $1.key }.map { channel, follower in
            ClosureService(channel) { await follower.run() }
        }
        if let board {
            services.append(
                ClosureService("key-uses") {
                    while !Task.isCancelled {
                        try? await Task.sleep(for: useInterval)
                        // A task of its own: the last uses are noted after the cancellation, too.
                        await Task { try? await board.noteUses(database) }.value
                    }
                }
            )
        }
        services.append(ClosureService("partitions") { await retention.run() })
        return services
    }
}
