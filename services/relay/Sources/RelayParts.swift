internal import Bus
internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// One relay without its surroundings: what the executable and the tests assemble.
struct RelayParts: Sendable {
    /// What a process is built on.
    struct Surroundings: Sendable {
        let bus: Bus
        /// The process's name in the fleet.
        let instance: String
        let claims: ClaimSequence
        let verifier: TokenVerifier
        let revocations: Revocations
        let clock: ApplicationClock
        /// What limits are measured with, monotonic nanoseconds.
        let uptime: @Sendable () -> UInt64
        /// Whether something that another relay published arrives now.
        let hears: @Sendable () -> Bool
        let limits: RelayLimits
        let metrics: Metrics
    }

    /// What is known of ended sessions.
    struct Revocations: Sendable {
        /// Whether a token still counts.
        let status: @Sendable (RevocationQuestion) -> RevocationStatus
        /// Reads what was committed before the call; false when that failed.
        let look: @Sendable () async -> Bool
    }

    /// What it offers over HTTP.
    let endpoints: [Endpoint]
    /// What runs.
    let services: [any Service]
    /// Answers groups and auth on the bus.
    let desk: RelayDesk

    /// Assembles a process, its subscriptions included; the bus is to be started afterwards.
    init(_ surroundings: Surroundings) {
        let mailbox = RelayMailbox()
        let metrics = RelayMetrics(surroundings.metrics)
        let count = SocketCount(limit: surroundings.limits.sockets)
        let bus = surroundings.bus
        let groups = GroupsClient(bus, limit: surroundings.limits.askLimit)
        let (verifier, clock) = (surroundings.verifier, surroundings.clock)
        let (instance, uptime) = (surroundings.instance, surroundings.uptime)
        let ends = RelayRound(bus, confirmed: metrics.endsTaken, silent: metrics.endsUnanswered)
        let outside = RelayOutside(
            ask: { await groups.ask($0) },
            drawClaims: surroundings.claims.draw,
            publish: { part, bytes, trace in
                bus.publish(topic: BusTopics.presence, key: "\(part)", body: bytes, trace: trace)
            },
            tell: { relay, bytes, trace in
                bus.publish(
                    topic: BusTopics.relayNews(to: relay),
                    key: "",
                    body: bytes,
                    retain: false,
                    trace: trace
                )
            },
            tellEnds: { relays, departures in
                await ends.tell(
                    RelayRequest(body: .departed(departures)),
                    to: relays,
                    expecting: .departuresTaken
                )
            },
            livingRelays: { Set(bus.instances(of: ServiceNames.relay)).subtracting([instance]) },
            claims: { try? verifier.claims(of: $0) },
            look: surroundings.revocations.look,
            status: surroundings.revocations.status,
            milliseconds: clock.milliseconds,
            uptime: uptime
        )
        let (limits, look) = (surroundings.limits, surroundings.revocations.look)
        desk = RelayDesk(mailbox: mailbox, look: look)
        endpoints = [
            LiveEndpoint(
                mailbox: mailbox,
                verifier: verifier,
                count: count,
                openings: OpeningLimit(uptime),
                metrics: metrics
            ).endpoint
        ]
        RelaySubscriptions(
            mailbox: mailbox,
            hears: surroundings.hears,
            undecodable: metrics.undecodable
        ).subscribe(bus, instance: instance)
        services = [
            ClosureService("sockets") {
                startRelayThread {
                    RelayLoop(
                        outside,
                        mailbox: mailbox,
                        limits: limits,
                        metrics: metrics,
                        openSockets: count
                    ).run()
                }
                await untilCancelled()
                await withCheckedContinuation { continuation in
                    if !mailbox.post(.stop { continuation.resume() }) { continuation.resume() }
                }
            }
        ]
    }
}
