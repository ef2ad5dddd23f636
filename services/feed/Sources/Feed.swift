internal import Bus
internal import Database
internal import Messages
internal import Schedule
public import ServiceKit
internal import Telemetry
internal import Web

/// The feed: drivers report here, and trip planners read.
public enum Feed {
    /// What `alongside migrate` applies before the first start.
    public static let schema = ServiceSchema(
        "feed",
        migrations: [
            Migration(name: "0001-drivers", bytes: PackageResources._001_drivers_sql),
            Migration(name: "0002-api-keys", bytes: PackageResources._002_api_keys_sql),
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
        let schedule = try await ScheduleSettings.source(context)
        let bus = context.bus
        let intake = DriverIntake(
            DriverIntake.Surroundings(
                settings: context.settings,
                database: context.database,
                writing: context.databaseConfiguration,
                schedule: { schedule.current?.index },
                accounts: .absent,
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
        let publisher = FeedPublisher(
            maxAge: context.settings[FeedSettings.pointAge].components.seconds,
            metrics: context.metrics,
            drivers: { intake.drivers(at: $0).published }
        )
        if context.settings[FeedSettings.riderMode] {
            bus.subscribe(topic: BusTopics.estimates, of: ServiceNames.verifier) {
                publisher.heard($0.body)
            }
        }
        let clock = context.clock
        publisher.tick(at: clock.now())
        let feed = FeedEndpoints(publisher: publisher, access: intake.feedAccess)
        return ServiceParts(
            endpoints: feed.all + intake.endpoints,
            apiKeys: intake.apiKeys,
            foundations: intake.foundations,
            services: intake.services + [
                ClosureService("schedule") { await ScheduleSettings.refresh(schedule, context) },
                ClosureService("builder") {
                    while !Task.isCancelled {
                        publisher.tick(at: clock.now())
                        try? await Task.sleep(for: FeedPublisher.period)
                    }
                },
            ]
        )
    }
}
