internal import Bus
internal import Messages
public import ServiceKit
internal import Telemetry
internal import Web

/// The riders' HTTP surface; any number of them, without state.
public enum RiderIngest {
    /// Whether riders may report at all (spec 1.13; on by default here).
    private static let riderMode = Setting.flag(
        "RIDER_MODE_ENABLED",
        default: true,
        "Whether riders may report; off answers 404 on their paths and serves admins alone."
    ).lenient

    private static let publishedInterval = Setting.integer(
        "RIDER_PUBLISHED_INTERVAL",
        default: RiderLimits.publishedReportIntervalSeconds,
        in: RiderLimits.reportIntervalSeconds...15,
        "The longest time between reports of a published ride, in seconds; fast vehicles report more often."
    )

    /// Requests under way, and so connections, that the server admits: all that may wait for verifiers,
    /// whose client refuses the others with the same words, and what is being read or answered.
    static let maximumWaitingRequests = VerifierClient.waitingLimit + 512

    /// The service as the executable runs it.
    public static let definition = ServiceDefinition(
        name: ServiceNames.riderIngest,
        summary: "Takes riders' reports over HTTP and brings them to the verifier of their trip.",
        publicPort: 8102,
        internalPort: 9102,
        keyFamilies: [.rider, .staff],
        usesBus: true,
        settings: [riderMode.declaration, publishedInterval.declaration],
        scheduling: .batch,
        build: { context in build(context) }
    )

    private static func build(_ context: ServiceContext) -> ServiceParts {
        let agencies = AgencyBoard()
        guard context.settings[riderMode] else {
            let admin = AdminEndpoints(verifiers: nil, agencies: agencies, now: context.clock.now)
            return ServiceParts(endpoints: admin.all)
        }
        let bus = context.bus
        let verifiers = VerifierClient(
            VerifierClient.Transport(
                ask: { body, instance, timeout, trace throws(BusError) in
                    try await bus.request(
                        body,
                        to: instance,
                        timeout: timeout,
                        resend: false,
                        trace: trace
                    )
                },
                living: { bus.instances(of: ServiceNames.verifier) },
                sleep: { try? await Task.sleep(for: $0) },
                now: { .now }
            ),
            metrics: context.metrics
        )
        let unheard = [BusTopics.slots, BusTopics.agencies].map { topic in
            context.metrics.counter(
                "publications_undecodable_total",
                help: "States on the bus that were not understood.",
                labels: ["topic": topic]
            )
        }
        bus.subscribe(topic: BusTopics.slots, of: ServiceNames.verifier) { publication in
            guard let table = try? SlotTable(decoding: publication.body) else {
                return unheard[0].add()
            }
            verifiers.heard(table)
        }
        bus.subscribe(topic: BusTopics.agencies, of: ServiceNames.feed) { publication in
            if !agencies.heard(publication.body) { unheard[1].add() }
        }
        context.metrics.gauge(
            "verifier_slots_known_items",
            help: "Slots whose owner is known, of 256."
        ) { Double(verifiers.knownSlots) }
        context.metrics.gauge(
            "verifier_requests_waiting_items",
            help: "Requests that wait for a verifier's answer."
        ) { Double(verifiers.waitingRequests) }
        context.readiness.check {
            verifiers.knownSlots == 256
                ? .ready : .notReady("verifiers: \(256 - verifiers.knownSlots) slots have no owner")
        }
        let now = context.clock.now
        return parts(
            RiderEndpoints(
                verifiers: verifiers,
                now: now,
                cadence: ReportCadence(
                    publishedIntervalSeconds: context.settings[publishedInterval]
                )
            ).all
                + AdminEndpoints(verifiers: verifiers, agencies: agencies, now: now).all
        )
    }

    /// The endpoints behind a server that admits what may wait.
    static func parts(_ endpoints: [Endpoint]) -> ServiceParts {
        var parts = ServiceParts(endpoints: endpoints)
        parts.maximumWaitingRequests = maximumWaitingRequests
        parts.maximumConnections = maximumWaitingRequests
        return parts
    }
}
