internal import Bus
internal import CLinux
internal import Database
internal import Messages
internal import Schedule
public import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// The feed: drivers report here, and trip planners read.
public enum Feed {
    /// What `alongside migrate` applies before the first start.
    public static let schema = ServiceSchema(
        "feed",
        migrations: [
            Migration(name: "0001-drivers", bytes: PackageResources._001_drivers_sql),
            Migration(name: "0002-api-keys", bytes: PackageResources._002_api_keys_sql),
            Migration(name: "0101-builder", bytes: PackageResources._101_builder_sql),
            Migration(
                name: "0102-schedule-archive",
                bytes: PackageResources._102_schedule_archive_sql
            ),
            Migration(
                name: "0103-erased-drivers",
                bytes: PackageResources._103_erased_drivers_sql
            ),
            Migration(
                name: "0104-travel-times",
                bytes: PackageResources._104_travel_times_sql
            ),
            Migration(
                name: "0105-schedule-outlook",
                bytes: PackageResources._105_schedule_outlook_sql
            ),
        ]
    )

    /// The service as the executable runs it.
    public static let definition = ServiceDefinition(
        name: ServiceNames.feed,
        summary: "Takes drivers' reports and publishes vehicles as GTFS-Realtime.",
        publicPort: 8104,
        internalPort: 9104,
        keyFamilies: [.staff],
        schema: schema,
        usesBus: true,
        settings: FeedSettings.declarations + ScheduleSettings.declarations,
        build: { context in try await build(context) }
    )

    private static func build(_ context: ServiceContext) async throws -> ServiceParts {
        // Else each thread that decodes or builds keeps a heap of its own, as large as the largest feed it ever
        // held: with three agencies of 20,000 vehicles 980 MB instead of 300.
        _ = mallopt(M_ARENA_MAX, 2)
        let schedule = try await ScheduleSettings.follower(context)
        let bus = context.bus
        let intake = DriverIntake(
            DriverIntake.Surroundings(
                settings: context.settings,
                database: context.database,
                writing: context.databaseConfiguration,
                schedule: { schedule.current?.index },
                accounts: AccountDirectory(bus),
                verifiers: VerifierRollCall(
                    living: { bus.instances(of: ServiceNames.verifier) },
                    ask: { body, instance, timeout, trace in
                        try? await bus.request(body, to: instance, timeout: timeout, trace: trace)
                    }
                ),
                now: context.clock.now,
                logger: context.logger,
                metrics: context.metrics
            )
        )
        await intake.prepare()
        let lock = BuilderLock(
            database: context.databaseConfiguration,
            instance: context.instance,
            logger: context.logger,
            metrics: context.metrics
        )
        let poller = poller(context, turn: { lock.epoch })
        let publisher = FeedPublisher(
            sources(context, intake, poller, schedule),
            metrics: context.metrics
        )
        let archivist = ScheduleArchivist(
            follower: schedule,
            database: context.database,
            refreshPeriod: ScheduleSettings.refreshPeriod(context),
            hasRiders: context.settings[FeedSettings.riderMode],
            isBuilding: { lock.epoch != nil },
            now: context.clock.now,
            logger: context.logger
        )
        let turn = BuilderTurn(
            publisher: publisher,
            lock: lock,
            poller: poller,
            pollPeriod: context.settings[FeedSettings.trustedPoll],
            clock: context.clock.now,
            voice: BuilderVoice(
                epoch: { lock.epoch },
                publish: { bus.publish(topic: $0.topic, key: $0.key, body: $0.body) },
                retract: { bus.retract(topic: $0, key: $1) }
            ),
            reachesReplicas: { [instance = context.instance] in
                await reachesReplicas(of: instance, bus)
            },
            logger: context.logger
        )
        let travelTimes = TravelTimeKeeper(
            publisher: publisher,
            database: context.database,
            epoch: { lock.epoch },
            now: context.clock.now,
            logger: context.logger
        )
        subscribe(context, publisher, turn)
        bus.serve { request in await intake.desk.answer(request.body) }
        let board = publisher.board
        context.readiness.check { board.hasFeed ? .ready : .notReady("feed: none was built yet") }
        var parts = ServiceParts(
            endpoints: endpoints(context, intake, board, schedule) + intake.endpoints,
            apiKeys: intake.apiKeys,
            foundations: intake.foundations,
            services: intake.services + [
                ClosureService("schedule") { await archivist.run() },
                ClosureService("replica") { await turn.followOthers() },
                ClosureService("lock") { await turn.standForLock() },
                ClosureService("contact") { await turn.watchContact() },
                ClosureService("travel-times") { await travelTimes.run() },
                ClosureService("agencies") { await turn.pollAgencies() },
                ClosureService("builder") { await turn.build() },
            ]
        )
        parts.maximumConnections = StreamEndpoint.maximumReaders + 1024
        return parts
    }

    private static func poller(
        _ context: ServiceContext,
        turn: @escaping @Sendable () -> UInt64?
    ) -> AgencyPoller? {
        let urls = context.settings[FeedSettings.trustedFeeds]
        guard !urls.isEmpty else { return nil }
        return AgencyPoller(
            urls: urls,
            clock: context.clock.now,
            turn: turn,
            logger: context.logger,
            metrics: context.metrics
        )
    }

    private static func sources(
        _ context: ServiceContext,
        _ intake: DriverIntake,
        _ poller: AgencyPoller?,
        _ schedule: ScheduleFollower
    ) -> FeedPublisher.Sources {
        let settings = context.settings
        var sources = FeedPublisher.Sources()
        sources.instance = context.instance
        sources.rules.riderMaxAge = settings[FeedSettings.pointAge].components.seconds
        sources.rules.trustedAge.maximum = settings[FeedSettings.trustedAge].components.seconds
        sources.rules.includesAgency = settings[FeedSettings.includesAgency]
        sources.rules.predictsAgency = settings[FeedSettings.predictsAgency]
        sources.hasRiders = settings[FeedSettings.riderMode]
        let tracker = intake.tracker
        sources.drivers = { tracker.live(at: $0) }
        if let poller { sources.agencies = { (poller.feeds, poller.version) } }
        sources.schedule = { schedule.current?.index }
        return sources
    }

    /// What the feed hears on the bus.
    private static func subscribe(
        _ context: ServiceContext,
        _ publisher: FeedPublisher,
        _ turn: BuilderTurn
    ) {
        let bus = context.bus
        if context.settings[FeedSettings.riderMode] {
            bus.subscribe(topic: BusTopics.estimates, of: ServiceNames.verifier) {
                publisher.heard($0.body)
            }
        }
        bus.subscribe(topic: BusTopics.trusted, of: ServiceNames.feed) {
            turn.heardTrusted($0.body)
        }
        bus.subscribe(topic: BusTopics.built, of: ServiceNames.feed) {
            turn.heardBuilt($0.body, key: $0.key)
        }
    }

    private static func endpoints(
        _ context: ServiceContext,
        _ intake: DriverIntake,
        _ board: FeedBoard,
        _ schedule: ScheduleFollower
    ) -> [Endpoint] {
        let feeds = FeedEndpoints(
            board: board,
            access: intake.feedAccess,
            includesAgency: context.settings[FeedSettings.includesAgency]
        )
        let catalogue = FeedCatalogue(
            board: board,
            agency: { schedule.current?.index.agencyName ?? "" },
            publicURL: context.settings[FeedSettings.publicURL] ?? "",
            licence: context.settings[FeedSettings.licence]
        )
        let hub = StreamHub(
            maximumReaders: StreamEndpoint.maximumReaders,
            metrics: context.metrics,
            feed: { board.feed(.vehiclePositions) }
        )
        board.onChange { [weak hub] kind in
            if kind == .vehiclePositions { hub?.feedChanged() }
        }
        let stream = StreamEndpoint(
            board: board,
            hub: hub,
            access: feeds.access,
            keys: intake.keys,
            includesAgency: feeds.includesAgency
        )
        return feeds.all + [catalogue.endpoint, stream.endpoint]
    }
}
