import Database
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Web

@testable import GroupsService

/// One running groups process: a real server over a pool of its own.
final class GroupsProcess: Sendable {
    /// What a process is given.
    struct Outside {
        let clock: ManualClock
        let directory: FakeDirectory
        let transport: LiveNews.Transport
        let limits: RequestLimits
        let http: HTTPClient
    }

    let port: Int
    let desk: GroupsDesk
    let endpoints: [Endpoint]
    let housekeeping: Housekeeping
    let metrics = Metrics()
    let http: HTTPClient
    let log: LogLines
    private let pool: Database
    private let server: HTTPServer

    init(_ database: TestDatabase, connections: Int, _ outside: Outside) throws {
        pool = database.open(connections: connections, role: Groups.schema.role)
        http = outside.http
        let lines = LogLines()
        log = lines
        let logger = Logger(level: .debug, sink: { _, line in lines.add(line) })
        let parts = GroupsParts(
            GroupsParts.Surroundings(
                database: pool,
                clock: outside.clock.application,
                directory: outside.directory,
                transport: outside.transport,
                limits: outside.limits,
                logger: logger,
                metrics: metrics
            )
        )
        desk = parts.desk
        endpoints = parts.endpoints
        housekeeping = parts.housekeeping
        server = try HTTPServer(
            endpoints: parts.endpoints,
            authorizer: TestTokens(clock: outside.clock.application).verifier([.member]),
            logger: logger
        )
        port = try server.start()
    }

    func close() async {
        await server.shutdown(within: .seconds(1))
        await pool.close()
    }
}

extension RequestLimits {
    /// Limits that no test meets by accident.
    static var none: RequestLimits {
        let rate = Rate(burst: 1e9, perSecond: 1e9)
        return RequestLimits(address: rate, account: rate)
    }
}

/// What a process logged.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    var text: String { lines.withLock { $0.joined() } }
}
