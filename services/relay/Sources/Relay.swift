internal import Bus
internal import Database
internal import Messages
public import ServiceKit
internal import Telemetry
internal import Web

/// Open sockets and nothing else: live positions, votes and arrivals over WebSocket.
public enum Relay {
    /// What `alongside migrate` applies before the first start.
    public static let schema = ServiceSchema(
        "relay",
        migrations: [Migration(name: "0001-relay", bytes: PackageResources._001_relay_sql)]
    )

    /// How many sockets a process takes.
    private static let sockets = Setting.integer(
        "RELAY_SOCKETS",
        default: RelayLimits().sockets,
        in: 1...1_000_000,
        "Open sockets of this process; beyond it an upgrade is answered 503."
    )

    /// The service as the executable runs it.
    public static let definition = definition(RelayLimits())

    /// The service with other limits, with another clock for them, or hard of hearing.
    ///
    /// - Parameters:
    ///   - limits: Its limits.
    ///   - uptime: What they are measured with, monotonic nanoseconds.
    ///   - hears: Whether something that another relay published arrives now.
    /// - Returns: The service.
    static func definition(
        _ limits: RelayLimits,
        uptime: @escaping @Sendable () -> UInt64 = Timestamps.monotonicNanoseconds,
        hears: @escaping @Sendable () -> Bool = { true }
    ) -> ServiceDefinition {
        ServiceDefinition(
            name: ServiceNames.relay,
            summary: "Live positions over WebSocket, between people who chose each other.",
            publicPort: 8106,
            internalPort: 9106,
            keyFamilies: [.member],
            schema: schema,
            usesBus: true,
            settings: [sockets.declaration],
            build: { context in build(context, limits, uptime, hears) }
        )
    }

    private static func build(
        _ context: ServiceContext,
        _ limits: RelayLimits,
        _ uptime: @escaping @Sendable () -> UInt64,
        _ hears: @escaping @Sendable () -> Bool
    ) -> ServiceParts {
        let bus = context.bus
        var limits = limits
        limits.sockets = DescriptorLimit.raise(for: context.settings[sockets])
        if limits.sockets < context.settings[sockets] {
            context.logger.warning(
                "fewer sockets than set: the system allows no more descriptors",
                ["relay.sockets": .integer(limits.sockets)]
            )
        }
        let view = context.revocations
        let parts = RelayParts(
            RelayParts.Surroundings(
                bus: bus,
                instance: context.instance,
                claims: ClaimSequence(context.database),
                verifier: TokenVerifier(
                    ring: context.keys,
                    clock: context.clock,
                    revocation: view.check
                ),
                revocations: RelayParts.Revocations(
                    status: { view.status(of: $0) },
                    look: { await view.look() }
                ),
                clock: context.clock,
                uptime: uptime,
                hears: hears,
                limits: limits,
                metrics: context.metrics
            )
        )
        bus.serve { request in await parts.desk.answer(request.body, trace: request.trace) }
        context.readiness.check {
            bus.instances(of: ServiceNames.groups).isEmpty
                ? .notReady("groups: none is known") : .ready
        }
        return ServiceParts(endpoints: parts.endpoints, services: parts.services)
    }
}
