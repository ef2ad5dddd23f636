internal import Database
public import ServiceKit
internal import Telemetry
internal import Web

/// The one service that makes tokens.
public enum Auth {
    private static let riderMode = Setting.flag(
        "RIDER_MODE_ENABLED",
        default: true,
        "Whether riders' apps may register; off answers 404."
    ).lenient
    private static let riderLifetime = Setting.duration(
        "RIDER_JWT_TTL",
        default: .seconds(8760 * 3600),
        in: .seconds(60)...(.seconds(10 * 8760 * 3600)),
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
        let accounts = accounts(
            context.settings,
            database: context.database,
            keys: context.keys,
            clock: context.clock,
            logger: context.logger,
            metrics: context.metrics
        )
        try await accounts.prepare()
        return ServiceParts(
            endpoints: endpoints(
                context.settings,
                accounts: accounts,
                database: context.database,
                keys: context.keys,
                clock: context.clock,
                logger: context.logger
            )
        )
    }

    /// Accounts under these settings, and the erasure of them.
    static func accounts(
        _ settings: Settings,
        database: Database,
        keys: KeyRing,
        clock: ApplicationClock,
        logger: Logger = .silent,
        metrics: Metrics = Metrics()
    ) -> AccountParts {
        let revocations = Revocations()
        return AccountParts(
            settings,
            database: database,
            keys: keys,
            clock: clock,
            revocations: revocations,
            erasures: Erasures(
                database: database,
                revocations: revocations,
                owners: [],
                deletions: [
                    .account: { id, connection throws(DatabaseError) in
                        try AccountRows.delete(id, on: connection)
                    }
                ],
                logger: logger
            ),
            logger: logger,
            metrics: metrics
        )
    }

    /// What auth offers over HTTP under these settings.
    static func endpoints(
        _ settings: Settings,
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
            limiter: AttemptLimiter(kind: "register", limit: settings[registrationLimit]),
            lifetime: settings[riderLifetime],
            now: clock.now,
            logger: logger
        )
        return always + [register.endpoint]
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
            json.member("social", false)
            json.member("signup", signUp)
            json.member("version", ProductVersion.current)
            json.endObject()
            return .json(bytes: json.bytes)
        }
    }
}
