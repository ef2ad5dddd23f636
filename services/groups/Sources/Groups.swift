internal import Bus
internal import Database
internal import Messages
public import ServiceKit
internal import Telemetry
internal import Web

/// Friendships, groups, memberships and what members share: the social half's memory.
public enum Groups {
    /// What `alongside migrate` applies before the first start.
    public static let schema = ServiceSchema(
        "groups",
        migrations: [
            Migration(name: "0001-groups", bytes: PackageResources._001_groups_sql),
            Migration(name: "0002-event-answers", bytes: PackageResources._002_event_answers_sql),
            Migration(name: "0003-sharing-since", bytes: PackageResources._003_sharing_since_sql),
        ]
    )

    /// The service as the executable runs it.
    public static let definition = ServiceDefinition(
        name: ServiceNames.groups,
        summary: "Friendships, groups, invitations, sharing, last fixes, places and arrivals.",
        publicPort: 8105,
        internalPort: 9105,
        keyFamilies: [.member],
        schema: schema,
        usesBus: true,
        build: { context in build(context) }
    )

    private static func build(_ context: ServiceContext) -> ServiceParts {
        let bus = context.bus
        let parts = GroupsParts(
            GroupsParts.Surroundings(
                database: context.database,
                clock: context.clock,
                directory: BusAccountDirectory(bus: bus),
                transport: LiveNews.Transport(bus),
                limits: RequestLimits(),
                logger: context.logger,
                metrics: context.metrics
            )
        )
        bus.serve { request in await parts.desk.answer(request.body, trace: request.trace) }
        return ServiceParts(endpoints: parts.endpoints, services: parts.services)
    }
}
