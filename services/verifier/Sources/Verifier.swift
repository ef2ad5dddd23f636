internal import Bus
internal import Database
internal import Messages
internal import Schedule
public import ServiceKit
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Verification

/// The verifier: judges riders' reports and keeps their rides.
public enum Verifier {
    /// What `alongside migrate` applies before the first start.
    public static let schema = ServiceSchema(
        "verifier",
        migrations: [
            Migration(name: "0001-rides", bytes: PackageResources._001_rides_sql)
        ]
    )

    /// The service as the executable runs it.
    public static let definition = ServiceDefinition(
        name: ServiceNames.verifier,
        summary: "Judges riders' reports against schedule, shape and trusted vehicles.",
        publicPort: nil,
        internalPort: 9103,
        schema: schema,
        usesBus: true,
        settings: VerifierSettings.declarations + ScheduleSettings.declarations,
        build: { context in try await build(context) }
    )

    private static func build(_ context: ServiceContext) async throws -> ServiceParts {
        let thresholds = VerifierSettings.thresholds(context.settings)
        let schedule = try await ScheduleSettings.follower(context)
        let trusted = TrustedBoard(thresholds: thresholds)
        let clock = context.clock
        let circumstances: @Sendable () -> Circumstances = {
            Circumstances(
                index: schedule.current?.index,
                trusted: trusted.snapshot,
                thresholds: thresholds,
                now: clock.now(),
                uptime: Double(Timestamps.monotonicNanoseconds()) / 1e9
            )
        }
        let bus = context.bus
        let node = VerifierNode(
            VerifierNode.Surroundings(
                instance: context.instance,
                database: context.databaseConfiguration,
                thresholds: thresholds,
                circumstances: circumstances,
                publish: { bus.publish(topic: $0, key: $1, body: $2) },
                logger: context.logger,
                metrics: context.metrics
            )
        )
        context.readiness.check { node.readiness }
        bus.serve { request in await node.answer(request) }
        bus.subscribe(topic: BusTopics.slots, of: ServiceNames.verifier) { node.heard($0.body) }
        bus.subscribe(topic: BusTopics.trusted, of: ServiceNames.feed) {
            trusted.heard($0.body)
        }
        return ServiceParts(
            foundations: [ClosingService("writer") { await node.close() }],
            services: [
                ClosureService("schedule") { await schedule.run() },
                ClosureService("slots") { try await node.keepSlots() },
                ClosureService("estimates") { try await node.publishEstimates() },
                ClosureService("reaper") { try await node.reap() },
            ]
        )
    }
}
