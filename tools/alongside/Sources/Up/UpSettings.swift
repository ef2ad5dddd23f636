internal import ServiceKit

/// What `alongside up` can be told; everything else in the environment goes to the services.
enum UpSettings {
    static let port = Setting.integer(
        "PORT",
        default: 8080,
        in: 1...65_535,
        "The one port that the gateway listens on."
    )
    static let bind = Setting.text(
        "BIND",
        default: "127.0.0.1",
        "The numeric address that the gateway listens on."
    )
    static let site = Setting.optionalText(
        "SITE_ADDRESS",
        allowed: "names or addresses without a port, such as transit.example.org",
        "The name under which the public reaches the gateway, with a certificate; none has no TLS.",
        where: PublicSite.isAddress
    )
    static let httpPort = Setting.integer(
        "HTTP_PORT",
        default: 80,
        in: 1...65_535,
        "With SITE_ADDRESS: the port that sends browsers on to HTTPS, on port 443."
    )
    static let httpsPort = Setting.integer(
        "HTTPS_PORT",
        default: 443,
        in: 1...65_535,
        "With SITE_ADDRESS: the port for the public, who come to 443: what maps ports in front may differ."
    )
    static let data = Setting.text(
        "ALONGSIDE_DATA",
        default: ".alongside",
        "The folder for the private PostgreSQL, keys and logs."
    )
    static let databaseURL = Setting.secret(
        "DATABASE_URL",
        "A PostgreSQL of your own, as its owner; without it a private one is run."
    )
    static let jwtSecret = Setting.secret(
        "JWT_SECRET",
        minimumBytes: KeyRing.secretBytes,
        "The fleet's signing secret; made and kept in the data folder when absent."
    )
    static let adminEmail = Setting.optionalText(
        "ADMIN_BOOTSTRAP_EMAIL",
        "The address of the first admin; admin@localhost when absent."
    )
    static let adminPassword = Setting.secret(
        "ADMIN_BOOTSTRAP_PASSWORD",
        "The password of the first admin; made and kept in the data folder when absent."
    )
    static let jwtGeneration = Setting.integer(
        "JWT_KEY_GENERATION",
        default: 1,
        in: 1...KeyID.generationLimit,
        "The key generation that tokens are signed with; see the guide before raising it."
    )
    static let jwtAcceptsRaw = Setting.flag(
        "JWT_ACCEPT_RAW",
        default: false,
        "Whether tokens signed with JWT_SECRET itself count; every service then gets the secret."
    )
    static let schedule = Setting.optionalText(
        "GTFS_STATIC_URL",
        allowed: ScheduleDownload.allowedLocation,
        "The schedule, a path or a URL; `--demo` brings one.",
        where: ScheduleDownload.isLocation
    )
    static let busPrefix = Setting.optionalText(
        "BUS_URL_PREFIX",
        allowed: "ipc:///… or tcp://…",
        "Where the bus listens; a private folder of sockets by default.",
        where: { $0.hasPrefix("ipc:///") || $0.hasPrefix("tcp://") }
    )
    static let busPublicKey = Setting.optionalText(
        "BUS_CURVE_PUBLIC_KEY",
        "The fleet's public key for tcp; made and kept in the data folder when absent."
    )
    static let verifiers = count("VERIFIERS", "verifiers")
    static let ingests = count("INGESTS", "rider-ingests")
    static let feeds = count("FEEDS", "feeds")
    static let relays = count("RELAYS", "relays")
    static let auths = count("AUTHS", "auths")
    /// Not `GROUPS`: bash keeps that name for itself and hands it on to no program.
    static let groups = count("GROUPS_COUNT", "groups services")

    static let table = SettingsTable([
        port.declaration, bind.declaration, site.declaration, httpPort.declaration,
        httpsPort.declaration, data.declaration, databaseURL.declaration,
        jwtSecret.declaration, jwtGeneration.declaration, jwtAcceptsRaw.declaration,
        adminEmail.declaration, adminPassword.declaration, schedule.declaration,
        busPrefix.declaration,
        busPublicKey.declaration, verifiers.declaration, ingests.declaration, feeds.declaration,
        relays.declaration, auths.declaration, groups.declaration,
    ])

    /// The database, as its owner, from `DATABASE_URL` or its file; nil when neither is set.
    static func owner(_ environment: [String: String]) throws(OperationError) -> String? {
        try settings([databaseURL.declaration], environment)[databaseURL]?.revealed()
    }

    /// The data folder, as it is set.
    static func folder(_ environment: [String: String]) throws(OperationError) -> String {
        try settings([data.declaration], environment)[data]
    }

    /// The port of the gateway, as it is set.
    static func port(_ environment: [String: String]) throws(OperationError) -> Int {
        try settings([port.declaration], environment)[port]
    }

    /// Reads some settings alone: a command is not stopped by a fault in those that it does not need.
    private static func settings(
        _ declarations: [SettingDeclaration],
        _ environment: [String: String]
    ) throws(OperationError) -> Settings {
        do {
            return try SettingsTable(declarations).read(environment: environment, options: [:])
        } catch {
            throw OperationError("\(error)")
        }
    }

    private static func count(_ key: String, _ what: String) -> Setting<Int> {
        Setting.integer(key, default: 1, in: 1...16, "How many \(what) to run.")
    }
}
