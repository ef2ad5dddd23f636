internal import Bus
internal import Database
public import ServiceKit
internal import Telemetry
internal import Web

/// The one service that makes tokens.
public enum Auth {
    /// Bodies that may be on their way at once: with the log-ins that wait for a hash they never fill the connections
    /// that the gateway has for log-ins, so callers who send drop by drop keep nobody out.
    static let maximumUnfinishedBodies = 32

    private static let riderMode = Setting.flag(
        "RIDER_MODE_ENABLED",
        default: true,
        "Whether riders' apps may register; off answers 404."
    ).lenient
    private static let riderLifetime = Setting.duration(
        "RIDER_JWT_TTL",
        default: .seconds(8760 * 3600),
        in: .seconds(60)...RegisterRider.longestLifetime,
        "How long a rider's token is valid."
    ).lenient
    private static let registrationLimit = Setting.integer(
        "RIDER_REGISTRATION_LIMIT",
        default: 5,
        in: 1...1_000_000,
        "Registrations from one address in a minute."
    )

    /// What `alongside migrate` applies before the first start.
    public static let schema = ServiceSchema(
        "auth",
        migrations: [
            Migration(name: "0001-schema", bytes: PackageResources._001_schema_sql),
            Migration(name: "0002-revocations", bytes: PackageResources._002_revocations_sql),
            Migration(name: "0003-accounts", bytes: PackageResources._003_accounts_sql),
            Migration(name: "0004-erasures", bytes: PackageResources._004_erasures_sql),
        ]
    )

    /// The service as the executable runs it.
    public static let definition = ServiceDefinition(
        name: "auth",
        summary: "Knows accounts and riders' apps, signs and revokes tokens; knows no positions.",
        publicPort: 8101,
        internalPort: 9101,
        keyFamilies: [.rider, .member, .staff],
        signsTokens: true,
        schema: schema,
        usesBus: true,
        settings: [
            riderMode.declaration, riderLifetime.declaration, registrationLimit.declaration,
        ] + AccountParts.declarations,
        rules: AccountParts.rules,
        build: { context in try await build(context) }
    )

    private static func build(_ context: ServiceContext) async throws -> ServiceParts {
        let trust = TrustParts(context)
        let accounts = accounts(
            context.settings,
            trust: trust,
            database: context.database,
            keys: context.keys,
            clock: context.clock,
            logger: context.logger,
            metrics: context.metrics
        )
        try await accounts.prepare()
        let lookup = AccountLookup(database: context.database, logger: context.logger)
        context.bus.serve { request in await lookup.answer(request) }
        var parts = ServiceParts(
            endpoints: endpoints(
                context.settings,
                trust: trust,
                accounts: accounts,
                database: context.database,
                keys: context.keys,
                clock: context.clock,
                logger: context.logger
            ),
            services: trust.services
        )
        parts.maximumUnfinishedBodies = maximumUnfinishedBodies
        return parts
    }

    /// Accounts under these settings.
    static func accounts(
        _ settings: Settings,
        trust: TrustParts,
        database: Database,
        keys: KeyRing,
        clock: ApplicationClock,
        logger: Logger = .silent,
        metrics: Metrics = Metrics()
    ) -> AccountParts {
        AccountParts(
            settings,
            database: database,
            keys: keys,
            clock: clock,
            revocations: trust.revocations,
            erasures: trust.erasures,
            exports: trust.exports,
            logger: logger,
            metrics: metrics
        )
    }

    /// What auth offers over HTTP under these settings.
    static func endpoints(
        _ settings: Settings,
        trust: TrustParts,
        accounts: AccountParts,
        database: Database,
        keys: KeyRing,
        clock: ApplicationClock,
        logger: Logger = .silent
    ) -> [Endpoint] {
        let hasRiders = settings[riderMode]
        let always =
            [health, capabilities(rider: hasRiders, signUp: accounts.isSignUpEnabled)]
            + accounts.endpoints
        guard hasRiders else { return always }
        let register = RegisterRider(
            database: database,
            signer: TokenSigner(keys),
            keys: keys,
            revocations: trust.revocations,
            limiter: AddressLimiter(
                AttemptLimiter(
                    kind: "register",
                    limit: settings[registrationLimit],
                    keys: keys
                )
            ),
            lifetime: settings[riderLifetime],
            now: clock.now,
            logger: logger
        )
        let riders = RiderSelf(
            database: RequestDatabase(database: database, logger: logger),
            verifiers: trust.verifiers,
            erasures: trust.erasures,
            keys: keys,
            now: clock.now
        )
        return always + [register.endpoint] + riders.endpoints
    }

    private static let health = Endpoint(
        .get,
        "/api/health",
        access: .anyone,
        logLevel: .debug,
        inline: { _ in
            var json = JSONWriter()
            json.beginObject()
            json.member("status", "ok")
            json.endObject()
            return .json(bytes: json.bytes)
        }
    )

    /// What this deployment offers; false is what is not built or switched off.
    private static func capabilities(rider: Bool, signUp: Bool) -> Endpoint {
        Endpoint(.get, "/api/capabilities", access: .anyone, logLevel: .debug) { _ in
            var json = JSONWriter()
            json.beginObject()
            json.member("rider", rider)
            json.member("social", true)
            json.member("signup", signUp)
            json.member("version", ProductVersion.current)
            json.endObject()
            return .json(bytes: json.bytes)
        }
    }
}
