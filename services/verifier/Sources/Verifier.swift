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
            Migration(name: "0001-rides", bytes: PackageResources._001_rides_sql),
            Migration(name: "0002-operators", bytes: PackageResources._002_operators_sql),
            Migration(name: "0003-erased-riders", bytes: PackageResources._003_erased_riders_sql),
            Migration(name: "0004-witnesses", bytes: PackageResources._004_witnesses_sql),
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
        scheduling: .batch,
        build: { context in try await build(context) }
    )

    private static func build(_ context: ServiceContext) async throws -> ServiceParts {
        let retention = retention(context)
        guard context.settings[VerifierSettings.riderMode] else {
            return idle(context, retention)
        }
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
                pool: context.database,
                thresholds: thresholds,
                circumstances: circumstances,
                schedule: { schedule.current.map(VerifierStatusReply.Schedule.init) },
                publish: { bus.publish(topic: $0, key: $1, body: $2) },
                ask: { await ask(bus, $0, $1) },
                logger: context.logger,
                metrics: context.metrics
            )
        )
        context.readiness.check { node.readiness }
        bus.servePromptly { request, reply in
            node.answer(request.body, trace: request.trace, reply)
        }
        bus.subscribe(topic: BusTopics.slots, of: ServiceNames.verifier) { node.heard($0.body) }
        let unheard = context.metrics.counter(
            "publications_undecodable_total",
            help: "States on the bus that were not understood.",
            labels: ["topic": BusTopics.trusted]
        )
        bus.subscribe(topic: BusTopics.trusted, of: ServiceNames.feed) {
            if !trusted.heard($0.body) { unheard.add() }
        }
        return ServiceParts(
            foundations: [ClosingService("writer") { await node.close() }],
            services: [
                ClosureService("schedule") { await schedule.run() },
                ClosureService("slots") { try await node.keepSlots() },
                ClosureService("estimates") { try await node.publishEstimates() },
                ClosureService("reaper") { try await node.reap() },
                ClosureService("retention") { await retention.run() },
            ]
        )
    }

    /// Without riders nothing is owned, loaded or judged; what is stored grows old and may be forgotten.
    private static func idle(
        _ context: ServiceContext,
        _ retention: PointRetention
    ) -> ServiceParts {
        let idle = IdleVerifier(
            erasure: .idle(
                pool: context.database,
                now: context.clock.now,
                logger: context.logger
            )
        )
        context.bus.serve { request in await idle.answer(request.body, trace: request.trace) }
        return ServiceParts(services: [ClosureService("retention") { await retention.run() }])
    }

    private static func retention(_ context: ServiceContext) -> PointRetention {
        PointRetention(
            pool: context.database,
            retentionSeconds: VerifierSettings.pointRetentionSeconds(context.settings),
            now: context.clock.now,
            logger: context.logger,
            metrics: context.metrics
        )
    }

    /// Asks another verifier about a rider; long enough for the end of a ride and its commit.
    private static func ask(
        _ bus: Bus,
        _ body: RideRequest.Body,
        _ instance: String
    ) async -> RideReply.Body? {
        let request = RideRequest(requestID: .random(), trace: .random(), body: body)
        let answer = try? await bus.request(
            request.encoded(),
            to: instance,
            timeout: .seconds(2),
            resend: false
        )
        return answer.flatMap { try? RideReply(decoding: $0) }?.body
    }
}

extension VerifierStatusReply.Schedule {
    /// A loaded schedule as the admin's status shows it.
    init(_ loaded: LoadedSchedule) {
        self.init(
            source: loaded.source,
            contentHash: loaded.contentHash,
            loadedAt: loaded.loadedAt,
            trips: loaded.index.counts.riderTrips,
            shapes: loaded.index.counts.shapes,
            timeZone: loaded.index.timeZone.name
        )
    }
}
