public import Database
public import Web

/// What a service is, before it runs: its name, its needs and how to build it.
public struct ServiceDefinition: Sendable {
    /// The name of the executable and of the service on the bus, such as `rider-ingest`.
    public let name: String
    /// What it is for, in one sentence for `--help`.
    public let summary: String
    /// The default of `PORT`; nil for a service that is only on the bus.
    public let publicPort: Int?
    /// The default of `INTERNAL_PORT`.
    public let internalPort: Int
    /// The families of tokens that its endpoints admit.
    public let keyFamilies: Set<KeyFamily>
    /// Whether it signs tokens, and so needs `JWT_SECRET` itself.
    public let signsTokens: Bool
    /// Its schema; nil when it stores nothing.
    public let schema: ServiceSchema?
    /// Whether it is on the bus, and so needs a database or `BUS_PEERS` to find others.
    public let usesBus: Bool
    /// Whether it has behaviour; without, `/ready` says `not built`.
    public let isBuilt: Bool
    /// Its own settings, beside the standard ones.
    public let settings: [SettingDeclaration]
    /// Checks over its settings.
    public let rules: [SettingsRule]
    /// How the system shares the processor between its threads and others.
    let scheduling: Scheduling
    let build: @Sendable (ServiceContext) async throws -> ServiceParts

    /// Defines a service.
    ///
    /// - Parameters:
    ///   - name: The executable's name.
    ///   - summary: What it is for, in one sentence.
    ///   - publicPort: The default of `PORT`; nil without public endpoints.
    ///   - internalPort: The default of `INTERNAL_PORT`.
    ///   - keyFamilies: The families of tokens that its endpoints admit.
    ///   - signsTokens: Whether it signs tokens.
    ///   - schema: Its schema; nil when it stores nothing.
    ///   - usesBus: Whether it is on the bus.
    ///   - isBuilt: Whether it has behaviour.
    ///   - settings: Its own settings.
    ///   - rules: Checks over its settings.
    ///   - scheduling: How the system shares the processor between its threads and others.
    ///   - build: Makes its parts; throwing stops the start with the error's description.
    public init(
        name: String,
        summary: String,
        publicPort: Int?,
        internalPort: Int,
        keyFamilies: Set<KeyFamily> = [],
        signsTokens: Bool = false,
        schema: ServiceSchema? = nil,
        usesBus: Bool = false,
        isBuilt: Bool = true,
        settings: [SettingDeclaration] = [],
        rules: [SettingsRule] = [],
        scheduling: Scheduling = .ordinary,
        build: @escaping @Sendable (ServiceContext) async throws -> ServiceParts
    ) {
        self.name = name
        self.summary = summary
        self.publicPort = publicPort
        self.internalPort = internalPort
        self.keyFamilies = keyFamilies
        self.signsTokens = signsTokens
        self.schema = schema
        self.usesBus = usesBus
        self.isBuilt = isBuilt
        self.settings = settings
        self.rules = rules
        self.scheduling = scheduling
        self.build = build
    }

    /// All of the service's settings, the standard ones first.
    public var table: SettingsTable {
        let standard = StandardSettings(self)
        return SettingsTable(standard.declarations + settings, rules: standard.rules + rules)
    }

    /// The name as environment variables carry it: `rider-ingest` is `RIDER_INGEST`.
    public var environmentName: String { String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
}

/// A service's own schema in the database.
public struct ServiceSchema: Sendable {
    /// The schema's name.
    public let name: String
    /// The role that owns it and that the service works as.
    public let role: String
    /// Its history; `alongside migrate` applies it, the service checks at its start that it was.
    public let migrations: [Migration]

    /// Describes a schema.
    ///
    /// - Parameters:
    ///   - name: The schema's name.
    ///   - role: The role that owns it; `alongside_<name>` by default.
    ///   - migrations: Its history from the first step on.
    public init(_ name: String, role: String? = nil, migrations: [Migration]) {
        self.name = name
        self.role = role ?? "alongside_\(name)"
        self.migrations = migrations
    }
}

/// What a service consists of, once its surroundings stand.
public struct ServiceParts: Sendable {
    /// What it offers over HTTP.
    public var endpoints: [Endpoint]
    /// Who decides on callers in place of the token verifier.
    public var authorizer: (any Authorizer)?
    /// Who decides on callers of endpoints for holders of API keys.
    public var apiKeys: (any Authorizer)?
    /// Open connections beyond which requests are answered 503; nil for the server's own limit.
    public var maximumConnections: Int?
    /// Bodies on their way beyond which the slowest is answered 503; nil for half of the connections.
    public var maximumUnfinishedBodies: Int?
    /// Requests under way beyond which more are answered 503; nil for the server's own limit.
    public var maximumWaitingRequests: Int?
    /// Parts that answers on the bus depend on, such as a writer; stopped after the bus.
    public var foundations: [any Service]
    /// Parts that use the bus, such as pollers and tickers; stopped before it.
    public var services: [any Service]

    /// Lists the parts, each in the order of dependency.
    ///
    /// They stop in this order: HTTP (in flight is answered), `services` from the last to the
    /// first, the bus (in flight is answered, states leave), `foundations`, the database.
    public init(
        endpoints: [Endpoint] = [],
        authorizer: (any Authorizer)? = nil,
        apiKeys: (any Authorizer)? = nil,
        foundations: [any Service] = [],
        services: [any Service] = []
    ) {
        self.endpoints = endpoints
        self.authorizer = authorizer
        self.apiKeys = apiKeys
        self.foundations = foundations
        self.services = services
    }
}
