import Database
import Foundation
import TestKit
import Testing

@testable import Operations
@testable import ServiceKit

/// `alongside secrets` and `alongside migrate --logins`.
@Suite(.timeLimit(.minutes(1))) struct SecretsCommandTests {
    private let folder: OwnFolder

    init() throws { folder = try OwnFolder() }

    private func make(
        database: String? = nil,
        generation: Int = 1
    ) throws -> [String: [String: String]] {
        let settings = try UpSettings.table.read(environment: [
            "JWT_KEY_GENERATION": "\(generation)"
        ])
        let host = database.map { ["--database", $0] } ?? []
        try SecretsCommand(arguments: [folder.path + "/secrets"] + host, settings).run { text in
            #expect(text == "\(folder.path)/secrets holds a folder for each part of the deployment")
        }
        return try read()
    }

    /// Every file, by part and name.
    private func read() throws -> [String: [String: String]] {
        let root = folder.path + "/secrets"
        var all: [String: [String: String]] = [:]
        for part in try FileManager.default.contentsOfDirectory(atPath: root) {
            for name in try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(part)") {
                all[part, default: [:]][name] = try String(
                    contentsOfFile: "\(root)/\(part)/\(name)",
                    encoding: .utf8
                ).trimmingCharacters(in: .whitespacesAndNewlines)
            }
        }
        return all
    }

    @Test func `what is made anew follows where the database is and what its owner's password is`()
        throws
    {
        let made = try make(database: "db.example.org:5433")
        for path in ["feed/database-url", "postgres/password"] {
            try FileManager.default.removeItem(atPath: folder.path + "/secrets/" + path)
        }
        let again = try make()
        let feed = try #require(again["feed"]?["database-url"])
        #expect(feed.hasPrefix("postgresql://alongside_feed:"))
        #expect(feed.hasSuffix("@db.example.org:5433/alongside"))
        #expect(feed != made["feed"]?["database-url"])
        #expect(again["postgres"] == made["postgres"])
    }

    // MARK: - Files

    @Test func `every service can start with what its own folder holds`() throws {
        let made = try make(database: "db.example.org:5433")
        for service in Fleet.definitions {
            let folder = "\(folder.path)/secrets/\(service.name)"
            var environment = ["GTFS_STATIC_URL": "/x", "BUS_ADVERTISE_HOST": "10.0.0.1"]
            environment["BUS_URL_PREFIX"] = "tcp://0.0.0.0:"
            for name in try #require(made[service.name]).keys {
                var key = name.uppercased().replacing("-", with: "_")
                if name == "database-url" { key = "\(service.environmentName)_DATABASE_URL" }
                if name == "bus-secret-key" { key = "BUS_CURVE_SECRET_KEY" }
                if name == "admin-password" { key = "ADMIN_BOOTSTRAP_PASSWORD" }
                environment[key + "_FILE"] = "\(folder)/\(name)"
            }
            if service.name == "auth" { environment["ADMIN_BOOTSTRAP_EMAIL"] = "a@b.org" }
            #expect(throws: Never.self, "\(service.name)") {
                try service.table.read(environment: environment)
            }
            let url = made[service.name]?["database-url"] ?? ""
            #expect(url.hasPrefix("postgresql://\(service.loginRole):"))
            #expect(url.hasSuffix("@db.example.org:5433/alongside"))
        }
    }

    @Test func `the signing secret lies with the one service that signs`() throws {
        let made = try make()
        #expect(made.filter { $0.value["jwt-secret"] != nil }.keys.sorted() == ["auth"])
        #expect(made["groups"]?["jwt-key-member"] != nil)
        #expect(made["groups"]?["jwt-key-staff"] == nil)
        let passwords = Fleet.definitions.map { made[$0.name]?["database-url"] }
        #expect(Set(passwords).count == passwords.count)
    }

    @Test func `nobody but the owner enters the folder around all parts`() throws {
        _ = try make()
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/secrets")
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    @Test func `a second run changes nothing, a new generation the derived keys alone`() throws {
        let first = try make()
        #expect(try make() == first)
        let second = try make(generation: 2)
        for (part, files) in first {
            for (name, value) in files {
                let isDerived = name.hasPrefix("jwt-key-")
                #expect((second[part]?[name] != value) == isDerived, "\(part)/\(name)")
            }
        }
    }

    @Test(arguments: [[], ["a", "b"], ["a", "--nothing"]])
    func `says how it is used`(arguments: [String]) throws {
        let settings = try UpSettings.table.read(environment: [:])
        let error = #expect(throws: OperationError.self) {
            try SecretsCommand(arguments: arguments, settings)
        }
        #expect(error?.description.contains(SecretsCommand.usage) == true)
    }

    // MARK: - Logins

    @Test func `each service logs in as its own role and reads its own tables`() async throws {
        _ = try make()
        let database = try await ThrowawayPostgres.shared.database()
        let secrets = folder.path + "/secrets"
        let code = try await onOneThread {
            Alongside.run(
                arguments: ["migrate", "--logins", secrets],
                environment: ["DATABASE_URL": database.url]
            )
        }
        #expect(code == 0)
        for service in Fleet.definitions {
            let url = database.url.replacing("user=postgres", with: "user=\(service.loginRole)")
            let pool = Database(DatabaseConfiguration(url: url, connections: 1))
            #expect(try await reads("bus.instances", pool), "\(service.name)")
            #expect(try await reads("auth.revocations", pool), "\(service.name)")
            for schema in Fleet.schemas where schema.name != "bus" {
                let own = service.schema?.name == schema.name
                #expect(
                    try await reads("\(schema.name).\(Self.tables[schema.name] ?? "")", pool)
                        == own,
                    "\(service.name) and \(schema.name)"
                )
            }
            await pool.close()
        }
    }

    private static let tables = [
        "auth": "accounts", "verifier": "rides", "feed": "drivers", "groups": "members",
        "relay": "claims",
    ]

    private func reads(_ table: String, _ pool: Database) async throws -> Bool {
        do throws(DatabaseError) {
            try await pool.withConnection { connection throws(DatabaseError) in
                _ = try connection.query("SELECT 1 FROM \(table) LIMIT 1")
            }
            return true
        } catch {
            guard error.sqlState == "42501" else { throw error }
            return false
        }
    }

    @Test func `a file that is missing or of another form stops it before anything changes`() throws
    {
        let secrets = folder.path + "/secrets"
        let missing = #expect(throws: OperationError.self) { try Logins(folder: secrets) }
        #expect(missing?.description.contains("alongside secrets \(secrets)") == true)
        _ = try make()
        let file = "\(secrets)/feed/database-url"
        for url in [
            "postgresql://alongside_auth:abc@x/alongside",
            "postgresql://alongside_feed@x/alongside",
            "postgresql://alongside_feed:a'b@x/alongside",
        ] {
            try FileManager.default.removeItem(atPath: file)
            try url.write(toFile: file, atomically: true, encoding: .utf8)
            let error = #expect(throws: OperationError.self) { try Logins(folder: secrets) }
            #expect(error?.description.hasPrefix("\(file) must be") == true)
            #expect(error?.description.contains("a'b") == false)
        }
    }
}
