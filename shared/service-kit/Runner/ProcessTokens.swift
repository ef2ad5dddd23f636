internal import Bus
internal import Database
internal import Messages
internal import Telemetry

/// What a process needs to judge tokens: its keys and what it knows of revocations.
struct ProcessTokens: Sendable {
    let keys: KeyRing
    let revocations: RevocationView
    let verifier: TokenVerifier

    /// Makes the parts; the process is ready when the revocations were read once.
    ///
    /// - Parameters:
    ///   - keys: The keys of the families that the process's endpoints admit.
    ///   - pool: Reads the revocations.
    ///   - bus: Hears them earlier, where the process is on the bus.
    ///   - clock: The application clock.
    ///   - readiness: Gets the view's check.
    ///   - logger: Hears of looks that fail.
    ///   - metrics: Counts refusals and looks.
    init(
        _ keys: KeyRing,
        pool: Database,
        bus: Bus?,
        clock: ApplicationClock,
        readiness: ReadinessBoard,
        logger: Logger,
        metrics: Metrics
    ) {
        let view = RevocationView(database: pool, clock: clock, logger: logger, metrics: metrics)
        readiness.check { view.readiness }
        bus?.subscribe(topic: BusTopics.revocations, of: ServiceNames.auth) { view.hear($0.body) }
        self.keys = keys
        revocations = view
        verifier = TokenVerifier(
            ring: keys,
            clock: clock,
            metrics: metrics,
            revocation: view.check
        )
    }

    /// Reads the revocations until the process stops.
    var service: any Service {
        ClosureService("revocations") { [revocations] in await revocations.run() }
    }
}
