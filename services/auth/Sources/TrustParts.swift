internal import Bus
internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit

/// Revocations and erasures of one auth, and the work that they need in the background.
struct TrustParts: Sendable {
    /// How often unfinished erasures are gone on with.
    static let erasurePeriod = Duration.seconds(5)
    /// How often ended revocations and counted attempts are removed.
    static let sweepPeriod = Duration.seconds(60)

    let revocations: Revocations
    let erasures: Erasures
    let exports: AccountExports
    let verifiers: VerifierQuestions
    private let database: Database
    private let now: @Sendable () -> UnixSeconds
    private let logger: Logger

    /// Makes the parts.
    ///
    /// - Parameters:
    ///   - database: Auth's pool.
    ///   - clock: The application clock.
    ///   - announce: Reads new revocations at once, publishes them and has sockets closed.
    ///   - verifiers: Asked to forget riders and what they know of them.
    ///   - owners: Everybody who stores something about subjects.
    ///   - logger: Hears of erasures by their own ids.
    init(
        database: Database,
        clock: ApplicationClock,
        announcing announce: @escaping @Sendable () async -> Void = {},
        verifiers: VerifierQuestions,
        owners: [ErasureOwner],
        logger: Logger = .silent
    ) {
        let riders: Erasures.Deletion = { id, connection throws(DatabaseError) in
            try RiderRows.delete(id, on: connection)
        }
        let accounts: Erasures.Deletion = { id, connection throws(DatabaseError) in
            try AccountRows.delete(id, on: connection)
        }
        revocations = Revocations(announcing: announce)
        erasures = Erasures(
            database: database,
            revocations: revocations,
            owners: owners,
            deletions: [.rider: riders, .account: accounts],
            logger: logger
        )
        exports = AccountExports(owners: owners)
        self.verifiers = verifiers
        self.database = database
        now = clock.now
        self.logger = logger
    }

    /// Makes the parts of a process, over its bus and its view of the revocations.
    init(_ context: ServiceContext) {
        let (bus, view) = (context.bus, context.revocations)
        RevocationTopic.publish(view, on: bus)
        let verifiers = VerifierQuestions(bus)
        let relays = RelayNotice(bus, metrics: context.metrics)
        self.init(
            database: context.database,
            clock: context.clock,
            announcing: {
                await view.look()
                // The change is made: a caller who is gone does not take it back.
                await Task { await relays.tell() }.value
            },
            verifiers: verifiers,
            owners: ErasureOwners.all(bus, verifiers),
            logger: context.logger
        )
    }

    /// The background work.
    var services: [any Service] {
        [
            ClosureService("erasures") {
                while !Task.isCancelled {
                    await erasures.sweep()
                    try? await Task.sleep(for: Self.erasurePeriod)
                }
            },
            ClosureService("sweep") {
                while !Task.isCancelled {
                    await sweep()
                    try? await Task.sleep(for: Self.sweepPeriod)
                }
            },
        ]
    }

    private func sweep() async {
        let now = now()
        do throws(DatabaseError) {
            try await database.withConnection { connection throws(DatabaseError) in
                try RevocationSweep.run(at: now, on: connection)
                try AttemptLimiter.sweep(at: now, on: connection)
            }
        } catch {
            logger.debug("what has ended is not swept", ["error": .text(error.description)])
        }
    }
}
