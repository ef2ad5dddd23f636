import Database
import Foundation
import ServiceKit
import TestKit
import Testing
import Transit

@testable import AuthService
@testable import Operations

/// `alongside keys derive`.
@Suite struct KeysCommandTests {
    private func derive(_ environment: [String: String]) throws -> String {
        try KeysCommand.derive(UpSettings.table.read(environment: environment))
    }

    @Test func `prints for each service the keys that it verifies with`() throws {
        let secret = TestTokens.secret
        let text = try derive([
            "JWT_SECRET": secret.revealed(), "JWT_KEY_GENERATION": "4",
        ])
        let lines = text.split(separator: "\n").map(String.init)
        for service in Fleet.definitions {
            let start = lines.firstIndex(of: "# \(service.name)")
            let isListed = !service.signsTokens && !service.keyFamilies.isEmpty
            #expect((start != nil) == isListed, "\(service.name)")
            guard let start else { continue }
            let own = lines[(start + 1)...].prefix { !$0.hasPrefix("#") }
            var families: Set<KeyFamily> = []
            for line in own {
                let pair = line.split(separator: "=", maxSplits: 1).map(String.init)
                let family = try #require(
                    KeyFamily.allCases.first { "JWT_KEY_\($0.rawValue.uppercased())" == pair[0] }
                )
                families.insert(family)
                let keys = try #require(KeyRing.parse(Secret(pair[1]), family: family))
                #expect(keys.count == 3)
                for generation in 3...5 {
                    let id = KeyID(family, generation: generation)
                    #expect(keys[id] == KeyRing.derive(id, secret: secret))
                }
            }
            #expect(families == service.keyFamilies)
        }
        #expect(!text.contains(secret.revealed()))
    }

    @Test func `says what is missing or wrong`() {
        #expect(throws: OperationError.self) { try derive([:]) }
        #expect(throws: SettingsError.self) { try derive(["JWT_SECRET": "short"]) }
        #expect(throws: SettingsError.self) {
            try derive([
                "JWT_SECRET": TestTokens.secret.revealed(), "JWT_KEY_GENERATION": "0",
            ])
        }
    }
}

/// What the services of `alongside up` hold of the fleet's secret.
@Suite struct ServiceKeysTests {
    private let environment = [
        "JWT_SECRET": TestTokens.secret.revealed(), "JWT_SECRET_FILE": "/keys/jwt-secret",
        "LOG_LEVEL": "info",
    ]

    private func keys(_ settings: [String: String]) throws -> ServiceKeys {
        ServiceKeys(try UpSettings.table.read(environment: settings), secret: TestTokens.secret)
    }

    @Test(arguments: Fleet.definitions.map(\.name))
    func `only who signs tokens gets the secret, others their keys`(name: String) throws {
        let service = try #require(Fleet.definitions.first { $0.name == name })
        let own = try keys([:]).environment(environment, for: service)
        #expect(own["LOG_LEVEL"] == "info")
        #expect((own["JWT_SECRET"] != nil) == (name == "auth"))
        #expect((own["JWT_SECRET_FILE"] != nil) == (name == "auth"))
        let families = KeyFamily.allCases.filter {
            own["JWT_KEY_\($0.rawValue.uppercased())"] != nil
        }
        #expect(Set(families) == (name == "auth" ? [] : service.keyFamilies))
    }

    @Test func `who accepts raw tokens keeps the secret`() throws {
        let keys = try keys(["JWT_ACCEPT_RAW": "1"])
        for service in Fleet.definitions {
            #expect(keys.environment(environment, for: service) == environment)
        }
    }
}

/// `alongside revoke`.
@Suite(.timeLimit(.minutes(1))) struct RevokeCommandTests {
    /// Runs the command on a thread of its own, as it blocks.
    private func run(
        _ kind: String,
        _ id: String,
        _ environment: [String: String]
    ) async -> Result<String, any Error> {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    returning: Result { try RevokeCommand.run(kind, id, environment) }
                )
            }
        }
    }

    private func sentence(_ result: Result<String, any Error>) -> String {
        switch result {
        case .success(let text): text
        case .failure(let error): "\(error)"
        }
    }

    @Test func `writes a row for a token and for a rider, not for a stranger`() async throws {
        let template = ThrowawayPostgres.Template("auth_revoke") {
            connection throws(DatabaseError) in
            try Migrator.migrate(
                schema: Auth.schema.name,
                role: Auth.schema.role,
                migrations: Auth.schema.migrations,
                on: connection
            )
        }
        let database = try await ThrowawayPostgres.shared.database(template)
        let (rider, installation) = (UniqueID.random(), UniqueID.random())
        let pool = database.open(connections: 1)
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO auth.riders (id, installation_id, platform, created_at, last_seen_at)
                VALUES ($1, $2, 'ios', now(), now())
                """,
                [.uuid(rider), .uuid(installation)]
            )
        }
        let environment = ["DATABASE_URL": database.url]
        let done = "revoked: every service refuses it within a second"
        let token = TokenClaims.randomTokenID()
        let unseen = "\(done); no account has such a token, so check the id if it is not a rider's"
        #expect(sentence(await run("token", token, environment)) == unseen)
        #expect(sentence(await run("rider", "\(rider)", environment)) == done)
        #expect(sentence(await run("installation", "\(installation)", environment)) == done)
        let stranger = UniqueID.random()
        #expect(
            sentence(await run("rider", "\(stranger)", environment)) == "there is no such rider"
        )
        let values = try await pool.withConnection { connection throws(DatabaseError) in
            var values: [String] = []
            for row in try connection.query(
                "SELECT kind || ' ' || value FROM auth.revocations ORDER BY 1"
            ) { values.append(try row.text(0)) }
            return values
        }
        let digest = SubjectDigest.text(of: rider.description)
        #expect(values == ["subject \(digest)", "token \(token)"])
        await pool.close()
    }

    @Test(arguments: [
        ("rider", "x", "x is not a UUID"), ("token", "abc", "abc is no token's id"),
        ("token", String(repeating: "a", count: 33), "aaa"),
        ("token", "0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdeg is no"),
        ("account", UniqueID.random().description, "revoke takes"),
    ])
    func `says what is wrong`(kind: String, id: String, start: String) async {
        let result = await run(kind, id, ["DATABASE_URL": "postgresql:///x"])
        #expect(sentence(result).hasPrefix(start))
        let token = TokenClaims.randomTokenID()
        #expect(sentence(await run("token", token, [:])).hasPrefix("DATABASE_URL is missing"))
    }
}
