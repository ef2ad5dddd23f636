internal import Bus
internal import Telemetry

/// The settings that every service has, as far as its definition calls for them.
struct StandardSettings: Sendable {
    static let host = Setting.text(
        "HOST",
        default: "127.0.0.1",
        "The numeric address of the public endpoints; only the gateway should reach it."
    )
    static let internalHost = Setting.text(
        "INTERNAL_HOST",
        default: "127.0.0.1",
        "The numeric address of /health, /ready and /metrics; never routed to the public."
    )
    static let logLevel = Setting<LogLevel>(
        "LOG_LEVEL",
        kind: "choice",
        allowed: "one of " + LogLevel.allCases.map(\.name).joined(separator: ", "),
        fallback: .info,
        fallbackText: LogLevel.info.name,
        documentation: "The lowest level that is written to standard error.",
        parse: { text in LogLevel.allCases.first { $0.name == text } }
    )
    static let instance = Setting.optionalText(
        "INSTANCE_ID",
        allowed: "1 to 64 letters, digits, \".\", \"_\" or \"-\"",
        "The process's name in the fleet; the service's name and a random number by default.",
        where: { text in
            (1...64).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    switch UInt8(byte) {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
                    default: false
                    }
                }
        }
    )
    static let trustsProxy = Setting.flag(
        "TRUST_PROXY_HEADERS",
        default: false,
        "Whether the rightmost X-Forwarded-For hop is the caller; only behind one trusted proxy."
    ).lenient
    static let readTimeout = httpTimeout("READ_TIMEOUT", 15, "How long a request may take to come.")
    static let writeTimeout = httpTimeout("WRITE_TIMEOUT", 15, "How long an answer may take to go.")
    static let idleTimeout = httpTimeout("IDLE_TIMEOUT", 60, "How long an idle connection stays.")

    static let databaseURL = Setting.secret(
        "DATABASE_URL",
        "The PostgreSQL URL of the owner; the service then works in its own role (SET ROLE)."
    )
    static let databaseConnections = Setting.integer(
        "DATABASE_CONNECTIONS",
        default: 2,
        in: 1...64,
        "The connections of the pool."
    )
    static let databaseWait = Setting.duration(
        "DATABASE_START_TIMEOUT",
        default: .seconds(30),
        in: .zero...(.seconds(3600)),
        "How long to wait at the start for a database that is away or not migrated yet."
    )

    static let busPrefix = Setting.text(
        "BUS_URL_PREFIX",
        default: "ipc:///run/alongside/",
        "Where the bus listens: ipc:///folder/, tcp://0.0.0.0: (free ports) or tcp://0.0.0.0:7000."
    )
    static let busHost = Setting.optionalText(
        "BUS_ADVERTISE_HOST",
        "The host that others connect to; needed when the bus listens on every address."
    )
    static let busPublicKey = Setting.optionalText(
        "BUS_CURVE_PUBLIC_KEY",
        allowed: "40 characters of Z85",
        "The public half of the fleet's key pair; made from the secret half when absent.",
        where: { $0.utf8.count == 40 }
    )
    static let busSecretKey = Setting.secret(
        "BUS_CURVE_SECRET_KEY",
        minimumBytes: 40,
        "The secret half of the fleet's key pair; required for tcp."
    )
    static let busPeers = Setting.optionalText(
        "BUS_PEERS",
        "Fixed instances, service=instance@request|publish by commas, instead of discovery."
    )

    static let jwtSecret = Setting.secret(
        "JWT_SECRET",
        minimumBytes: KeyRing.secretBytes,
        "The fleet's signing secret; services but auth can do with their JWT_KEY_ settings."
    )
    static let jwtGeneration = Setting.integer(
        "JWT_KEY_GENERATION",
        default: 1,
        in: 1...KeyID.generationLimit,
        "The current key generation; the ones before and after it are accepted too."
    )
    static let jwtAcceptsRaw = Setting.flag(
        "JWT_ACCEPT_RAW",
        default: false,
        "Whether tokens without kid, signed with JWT_SECRET itself, count (tests, migration)."
    )

    static func jwtKey(_ family: KeyFamily) -> Setting<Secret?> {
        Setting(
            "JWT_KEY_\(family.rawValue.uppercased())",
            kind: "secret",
            allowed: "keys as `alongside keys derive` prints them, <generation>:<key> by commas",
            fallback: .some(nil),
            fallbackText: "",
            documentation: "Verifies \(family.rawValue) tokens without JWT_SECRET.",
            isSecret: true,
            parse: { text in
                KeyRing.parse(Secret(text), family: family) == nil ? nil : .some(Secret(text))
            }
        )
    }

    let port: Setting<Int>?
    let internalPort: Setting<Int>
    /// `<SERVICE>_DATABASE_URL`.
    let ownDatabaseURL: Setting<Secret?>
    private let definition: ServiceDefinition

    init(_ definition: ServiceDefinition) {
        self.definition = definition
        port = definition.publicPort.map { port in
            Setting.integer(
                "PORT",
                default: port,
                in: 0...65_535,
                "The port of the public endpoints; 0 lets the system choose."
            )
        }
        internalPort = Setting.integer(
            "INTERNAL_PORT",
            default: definition.internalPort,
            in: 0...65_535,
            "The port of /health, /ready and /metrics; 0 lets the system choose."
        )
        ownDatabaseURL = Setting.secret(
            "\(definition.environmentName)_DATABASE_URL",
            "The PostgreSQL URL of the service's own role; wins over DATABASE_URL."
        )
    }

    /// Whoever admits tokens reads their revocations in the database.
    var needsDatabase: Bool {
        definition.schema != nil || definition.usesBus || !definition.keyFamilies.isEmpty
    }

    var declarations: [SettingDeclaration] {
        var list: [SettingDeclaration] = []
        if let port {
            list += [
                port.declaration, Self.host.declaration, Self.trustsProxy.declaration,
                Self.readTimeout.declaration, Self.writeTimeout.declaration,
                Self.idleTimeout.declaration,
            ]
        }
        list += [
            internalPort.declaration, Self.internalHost.declaration, Self.logLevel.declaration,
            Self.instance.declaration, FleetClock.start.declaration,
        ]
        if needsDatabase {
            list += [
                ownDatabaseURL.declaration, Self.databaseURL.declaration,
                Self.databaseConnections.declaration, Self.databaseWait.declaration,
            ]
        }
        if definition.usesBus {
            list += [
                Self.busPrefix.declaration, Self.busHost.declaration,
                Self.busPublicKey.declaration, Self.busSecretKey.declaration,
                Self.busPeers.declaration,
            ]
        }
        if !definition.keyFamilies.isEmpty {
            list += [
                Self.jwtSecret.declaration, Self.jwtGeneration.declaration,
                Self.jwtAcceptsRaw.declaration,
            ]
            if !definition.signsTokens { list += families.map { Self.jwtKey($0).declaration } }
        }
        return list
    }

    var rules: [SettingsRule] {
        let verifying = families.map { Self.jwtKey($0).key }
        return [
            SettingsRule(over: [ownDatabaseURL.key, Self.databaseURL.key], databaseFaults),
            SettingsRule(over: [Self.busPublicKey.key, Self.busSecretKey.key], busFaults),
            SettingsRule(
                over: Set([Self.jwtSecret.key, Self.jwtAcceptsRaw.key] + verifying),
                keyFaults
            ),
        ]
    }

    /// In the order of the enum, so that reports and printed tables are stable.
    private var families: [KeyFamily] {
        KeyFamily.allCases.filter { definition.keyFamilies.contains($0) }
    }

    private func databaseFaults(_ settings: Settings) -> [SettingFault] {
        guard needsDatabase, settings[ownDatabaseURL] == nil, settings[Self.databaseURL] == nil
        else { return [] }
        return [
            SettingFault(
                "DATABASE_URL is missing: set it or \(ownDatabaseURL.key), or run `alongside up`, "
                    + "which brings a database"
            )
        ]
    }

    private func busFaults(_ settings: Settings) -> [SettingFault] {
        guard definition.usesBus else { return [] }
        guard settings[Self.busPublicKey] != nil, settings[Self.busSecretKey] == nil else {
            return []
        }
        return [SettingFault("BUS_CURVE_PUBLIC_KEY: must come with BUS_CURVE_SECRET_KEY")]
    }

    private func keyFaults(_ settings: Settings) -> [SettingFault] {
        guard !definition.keyFamilies.isEmpty, settings[Self.jwtSecret] == nil else { return [] }
        if definition.signsTokens {
            return [
                SettingFault(
                    "JWT_SECRET is missing: set it, or JWT_SECRET_FILE, to at least "
                        + "\(KeyRing.secretBytes) random bytes"
                )
            ]
        }
        if settings[Self.jwtAcceptsRaw] {
            return [SettingFault("JWT_ACCEPT_RAW = \"true\": must come with JWT_SECRET")]
        }
        let missing = families.filter { settings[Self.jwtKey($0)] == nil }
        guard !missing.isEmpty else { return [] }
        let names = missing.map { Self.jwtKey($0).key }.joined(separator: " and ")
        return [
            SettingFault(
                "\(names) missing: take them from `alongside keys derive`, or set JWT_SECRET"
            )
        ]
    }

    /// The keys the service holds; nil when it needs none.
    func keyRing(_ settings: Settings) -> KeyRing? {
        guard !families.isEmpty else { return nil }
        if let secret = settings[Self.jwtSecret] {
            return KeyRing(
                secret: secret,
                families: definition.keyFamilies,
                generation: settings[Self.jwtGeneration],
                acceptsRaw: settings[Self.jwtAcceptsRaw]
            )
        }
        var keys: [KeyID: Secret] = [:]
        for family in families {
            guard let text = settings[Self.jwtKey(family)] else { continue }
            keys.merge(KeyRing.parse(text, family: family) ?? [:]) { first, _ in first }
        }
        return KeyRing(keys: keys)
    }

    private static func httpTimeout(
        _ key: String,
        _ seconds: Int64,
        _ documentation: String
    ) -> Setting<Duration> {
        Setting.duration(
            key,
            default: .seconds(seconds),
            in: .milliseconds(1)...(.seconds(3600)),
            documentation
        ).lenient
    }
}
