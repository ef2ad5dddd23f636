import Bus
import Database
import FoundationEssentials
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// A database with auth's schema, made from a template.
func authDatabase(_ postgres: ThrowawayPostgres = .shared) async throws -> TestDatabase {
    let template = ThrowawayPostgres.Template("auth") { connection throws(DatabaseError) in
        try Migrator.migrate(
            schema: Auth.schema.name,
            role: Auth.schema.role,
            migrations: Auth.schema.migrations,
            on: connection
        )
    }
    return try await postgres.database(template)
}

extension TestDatabase {
    /// Works on the database from outside the service under test, as the owner or as a role.
    @discardableResult
    func query<Value: Sendable>(
        as role: String? = nil,
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        let pool = open(connections: 1, role: role)
        do throws(DatabaseError) {
            let value = try await pool.withConnection(body)
            await pool.close()
            return value
        } catch {
            await pool.close()
            throw error
        }
    }
}

/// One running auth: a real server over a real database, on a clock that the test moves.
struct AuthProcess: Sendable {
    let port: Int
    let client: HTTPClient
    let trust: TrustParts
    let view: RevocationView
    let metrics: Metrics
    /// Looks at the revocations, as the process does each second.
    let look: @Sendable () async -> Void

    /// What `POST /api/v1/rider/register` answered.
    struct Registration: Decodable {
        let riderId: String
        let token: String
        let reportIntervalSeconds: Int
        let maxBatchSize: Int
    }

    /// An error's body.
    struct Refusal: Decodable, Equatable {
        let error: String
        let code: String
    }

    func get(_ path: String) async throws -> HTTPClientResponse {
        try await client.get("http://127.0.0.1:\(port)\(path)")
    }

    func send(
        _ method: HTTPMethod,
        _ path: String,
        token: String
    ) async throws -> HTTPClientResponse {
        try await client.send(
            method,
            "http://127.0.0.1:\(port)\(path)",
            headers: [("Authorization", "Bearer \(token)")]
        )
    }

    func register(
        _ body: String = installation(),
        from address: String? = nil,
        contentType: String = "application/json"
    ) async throws -> HTTPClientResponse {
        var headers = [("Content-Type", contentType)]
        if let address { headers.append(("X-Forwarded-For", address)) }
        return try await client.send(
            .post,
            "http://127.0.0.1:\(port)/api/v1/rider/register",
            headers: headers,
            body: Array(body.utf8)
        )
    }
}

/// Runs auth as its executable would assemble it, in this process.
func withAuth(
    _ environment: [String: String] = [:],
    clock: ManualClock = ManualClock(),
    database given: TestDatabase? = nil,
    trustsProxy: Bool = true,
    verifiers: VerifierQuestions = .none,
    owners: [ErasureOwner] = [],
    _ body: (AuthProcess) async throws -> Void
) async throws {
    try await turnstile.pass {
        let owners = [.verifier(verifiers)] + owners
        try await runAuth(environment, clock, given, trustsProxy, verifiers, owners, body)
    }
}

/// Few enough for two cores and the database's connections.
private let turnstile = Turnstile(places: 8)

private func runAuth(
    _ environment: [String: String],
    _ clock: ManualClock,
    _ given: TestDatabase?,
    _ trustsProxy: Bool,
    _ verifiers: VerifierQuestions,
    _ owners: [ErasureOwner],
    _ body: (AuthProcess) async throws -> Void
) async throws {
    let database: TestDatabase
    if let given { database = given } else { database = try await authDatabase() }
    var environment = environment
    environment["DATABASE_URL"] = database.url
    environment["JWT_SECRET"] = TestTokens.secret.revealed()
    let costs = Argon2Costs.test
    for (key, value) in [
        ("PASSWORD_HASH_PASSES", costs.passes), ("PASSWORD_HASH_MEMORY_KIB", costs.memoryKiB),
    ] where environment[key] == nil {
        environment[key] = String(value)
    }
    let settings = try Auth.definition.table.read(environment: environment)
    let pool = database.open(role: Auth.schema.role)
    let view = RevocationView(database: pool, clock: clock.application)
    await view.look()
    let keys = KeyRing(secret: TestTokens.secret, families: Auth.definition.keyFamilies)
    let trust = TrustParts(
        database: pool,
        clock: clock.application,
        announcing: { await view.look() },
        verifiers: verifiers,
        owners: owners
    )
    var configuration = HTTPServerConfiguration()
    configuration.trustsProxyHeaders = trustsProxy
    let metrics = Metrics()
    let accounts = Auth.accounts(
        settings,
        trust: trust,
        database: pool,
        keys: keys,
        clock: clock.application,
        metrics: metrics
    )
    try await accounts.prepare()
    let server = try HTTPServer(
        endpoints: Auth.endpoints(
            settings,
            trust: trust,
            accounts: accounts,
            database: pool,
            keys: keys,
            clock: clock.application
        ),
        configuration: configuration,
        authorizer: TokenVerifier(
            ring: keys,
            clock: clock.application,
            revocation: view.check
        )
    )
    let client = HTTPClient()
    let outcome: Result<Void, any Error>
    do {
        let process = AuthProcess(
            port: try server.start(),
            client: client,
            trust: trust,
            view: view,
            metrics: metrics,
            look: { await view.look() }
        )
        outcome = .success(try await body(process))
    } catch {
        outcome = .failure(error)
    }
    client.close()
    await server.shutdown(within: .seconds(1))
    await pool.close()
    try outcome.get()
}

extension VerifierQuestions {
    /// Nobody answers.
    static let none = VerifierQuestions(
        instances: { [] },
        ask: { _, instance, _ throws(BusError) in throw .unreachable(instance) }
    )
}

/// The body of a registration.
func installation(
    _ id: UniqueID = .random(),
    platform: String = "ios",
    appID: String = "org.example.app",
    appVersion: String = "1.0",
    more: String = ""
) -> String {
    """
    {"installation_id":"\(id)","platform":"\(platform)","app_id":"\(appID)",\
    "app_version":"\(appVersion)"\(more)}
    """
}

extension HTTPClientResponse {
    func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: Data(body))
    }

    var text: String { String(decoding: body, as: UTF8.self) }
}
