internal import Database
internal import ServiceKit
internal import Telemetry
internal import Web

/// Everything about accounts: settings, endpoints, and what happens at the start.
struct AccountParts: Sendable {
    static let declarations = [
        SessionLifetimes.accessSetting.declaration, SessionLifetimes.refreshSetting.declaration,
        AttemptLimits.addressSetting.declaration, AttemptLimits.identitySetting.declaration,
        AttemptLimits.signUpSetting.declaration, SignUp.setting.declaration,
        BootstrapAdmin.emailSetting.declaration, BootstrapAdmin.passwordSetting.declaration,
        PasswordSettings.memory.declaration, PasswordSettings.passes.declaration,
        PasswordSettings.threads.declaration,
    ]
    static let rules = [SessionLifetimes.rule, BootstrapAdmin.rule]

    let isSignUpEnabled: Bool
    private let context: AccountContext
    private let bootstrap: BootstrapAdmin?

    /// Starts the threads that hash passwords.
    init(
        _ settings: Settings,
        database: Database,
        keys: KeyRing,
        clock: ApplicationClock,
        revocations: Revocations,
        erasures: Erasures,
        exports: AccountExports,
        logger: Logger,
        metrics: Metrics
    ) {
        isSignUpEnabled = settings[SignUp.setting]
        bootstrap = BootstrapAdmin(settings)
        context = AccountContext(
            database: RequestDatabase(database: database, logger: logger),
            passwords: PasswordWorker(
                costs: Argon2Costs(
                    passes: settings[PasswordSettings.passes],
                    memoryKiB: settings[PasswordSettings.memory]
                ),
                threads: settings[PasswordSettings.threads],
                metrics: metrics
            ),
            sessions: Sessions(
                lifetimes: SessionLifetimes(settings),
                revocations: revocations
            ),
            erasures: erasures,
            exports: exports,
            signer: TokenSigner(keys),
            keys: keys,
            limits: AttemptLimits(settings, keys: keys),
            now: clock.now,
            logger: logger
        )
    }

    var endpoints: [Endpoint] {
        [
            SignUp(context: context, isEnabled: isSignUpEnabled).endpoint,
            LogIn(context: context).endpoint, Refresh(context: context).endpoint,
            ChangePassword(context: context).endpoint,
        ] + LogOut(context: context).endpoints + BrowserSession(context: context).endpoints
            + Profile(context: context).endpoints + Users(context: context).endpoints
    }

    /// Makes the first admin where the settings say so.
    ///
    /// - Throws: What stops the start.
    func prepare() async throws {
        try await bootstrap?.make(
            context.passwords,
            in: context.database.database,
            at: context.now(),
            logger: context.logger
        )
    }
}
