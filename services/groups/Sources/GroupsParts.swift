internal import Database
internal import ServiceKit
internal import Telemetry
internal import Web

/// One groups process without its surroundings: what the executable and the tests assemble.
struct GroupsParts: Sendable {
    /// What a process is built on.
    struct Surroundings: Sendable {
        let database: Database
        let clock: ApplicationClock
        let directory: any AccountDirectory
        let transport: LiveNews.Transport
        let limits: RequestLimits
        let logger: Logger
        let metrics: Metrics
    }

    /// What it offers over HTTP.
    let endpoints: [Endpoint]
    /// Who answers on the bus.
    let desk: GroupsDesk
    /// What is looked after from time to time.
    let housekeeping: Housekeeping
    /// What runs beside.
    let services: [any Service]

    /// Assembles a process.
    init(_ surroundings: Surroundings) {
        let database = surroundings.database
        let clock = surroundings.clock
        let logger = surroundings.logger
        let accounts = AccountBook(database: database, now: clock.now)
        let live = LiveNews(surroundings.transport, metrics: surroundings.metrics)
        let api = SocialAPI(
            database: database,
            accounts: accounts,
            directory: surroundings.directory,
            live: live,
            limits: surroundings.limits,
            clock: clock,
            logger: logger
        )
        endpoints =
            FriendEndpoints(api: api).all + GroupEndpoints(api: api).all
            + SharingEndpoint(api: api).all + FixEndpoints(api: api).all
            + PlaceEndpoints(api: api).all + EventEndpoints(api: api).all
            + AudienceEndpoint(api: api).all
        desk = GroupsDesk(database: database, accounts: accounts, live: live, logger: logger)
        let housekeeping = Housekeeping(database: database, clock: clock, logger: logger)
        self.housekeeping = housekeeping
        services = [ClosureService("housekeeping") { await housekeeping.run() }]
    }
}
