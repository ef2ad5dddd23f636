import Database
import Foundation
import Telemetry
import TestKit
import Testing
import Web

extension EndToEnd.People {
    @Suite(.timeLimit(.minutes(2))) struct StartFailureTests {
        /// A start that must fail with a sentence that says what to do.
        struct Case: CustomTestStringConvertible, Sendable {
            let testDescription: String
            var environment: [String: String] = [:]
            var prepare: @Sendable (_ folder: String) throws -> Void = { _ in }
            let sentence: String
        }

        static let cases = [
            Case(
                testDescription: "no schedule",
                environment: ["GTFS_STATIC_URL": ""],
                sentence: "GTFS_STATIC_URL is missing"
            ),
            Case(
                testDescription: "a schedule that is not there",
                environment: ["GTFS_STATIC_URL": "/nowhere/gtfs.zip"],
                sentence: "/nowhere/gtfs.zip"
            ),
            Case(
                testDescription: "a zip that is no schedule",
                environment: [
                    "GTFS_STATIC_URL": Self.data + "/feeds/badgtfs.zip"
                ],
                sentence: "badgtfs.zip"
            ),
            Case(
                testDescription: "a port out of range",
                environment: ["PORT": "99999"],
                sentence: "PORT = \"99999\": must be a whole number from 1 to 65535"
            ),
            Case(
                testDescription: "a data folder of another version",
                prepare: { folder in
                    try "7\n".write(toFile: folder + "/version", atomically: true, encoding: .utf8)
                },
                sentence: "was written by data version 7"
            ),
            Case(
                testDescription: "a PostgreSQL of another version",
                prepare: { folder in
                    let postgres = folder + "/postgres"
                    try FileManager.default.createDirectory(
                        atPath: postgres,
                        withIntermediateDirectories: true
                    )
                    try "13\n".write(
                        toFile: postgres + "/PG_VERSION",
                        atomically: true,
                        encoding: .utf8
                    )
                },
                sentence: "belongs to PostgreSQL 13"
            ),
            Case(
                testDescription: "a database that does not answer",
                environment: [
                    "DATABASE_URL": "postgresql://127.0.0.1:9/alongside?connect_timeout=1"
                ],
                sentence: "the database is not reachable"
            ),
            Case(
                testDescription: "wrong settings of two services",
                environment: ["RIDER_REGISTRATION_LIMIT": "many", "LOG_LEVEL": "loud"],
                sentence: "2 settings are wrong:\n  LOG_LEVEL = \"loud\""
            ),
            Case(
                testDescription: "a schedule's address that does not answer",
                environment: ["GTFS_STATIC_URL": "http://127.0.0.1:1/gtfs.zip"],
                sentence: "http://127.0.0.1:1/gtfs.zip: it cannot be fetched"
            ),
            Case(
                testDescription: "a first admin with no address",
                environment: ["ADMIN_BOOTSTRAP_EMAIL": "notmail"],
                sentence: "ADMIN_BOOTSTRAP_EMAIL = \"notmail\": must be an e-mail address"
            ),
            Case(
                testDescription: "a name as the address",
                environment: ["BIND": "localhost"],
                sentence: "BIND = \"localhost\" is no numeric address"
            ),
            Case(
                testDescription: "another machine's address",
                environment: ["BIND": "203.0.113.1"],
                sentence: "203.0.113.1 is no address of this machine"
            ),
        ]

        private static let data = ProjectPaths.sharedData

        @Test(arguments: cases)
        func `a start that cannot work says why and leaves nothing running`(
            failure: Case
        ) async throws {
            let folder = try Product.newFolder()
            try failure.prepare(folder)
            chmod(folder, 0o711)
            let product = try Product(environment: failure.environment, folder: folder)
            try await eventually("ended: \(product.log)", within: .seconds(60)) {
                !product.isRunning
            }
            #expect(try await product.stop() == 1)
            let lines = product.log.split(separator: "\n").filter { $0.hasPrefix("alongside: ") }
            #expect(lines.count == 1, "\(product.log)")
            #expect(product.log.contains(failure.sentence), "\(product.log)")
            // No cluster was made, let alone started.
            #expect(!FileManager.default.fileExists(atPath: folder + "/postgres/base"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/postgres/postmaster.pid"))
            #expect(
                try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int
                    == 0o711
            )
            try await product.remove()
        }

        @Test func `a database of one's own stays empty when the schedule does not answer`()
            async throws
        {
            let database = try await ThrowawayPostgres.shared.database()
            let product = try Product(environment: [
                "DATABASE_URL": database.url, "GTFS_STATIC_URL": "http://127.0.0.1:1/gtfs.zip",
            ])
            try await eventually("ended: \(product.log)", within: .seconds(60)) {
                !product.isRunning
            }
            #expect(product.log.contains("http://127.0.0.1:1/gtfs.zip: it cannot be fetched"))
            let pool = database.open(connections: 1)
            let tables = try await pool.withConnection { connection throws(DatabaseError) in
                try connection.query(
                    "SELECT count(*) FROM pg_namespace WHERE nspname IN ('bus', 'auth', 'feed')"
                ).one().int(0)
            }
            #expect(tables == 0)
            await pool.close()
            try await product.remove()
        }

        @Test func `a port in use is named`() async throws {
            let other = try HTTPServer(
                endpoints: [],
                configuration: HTTPServerConfiguration(),
                logger: .silent
            )
            let port = try other.start()
            let product = try Product(environment: ["PORT": String(port)])
            try await eventually("ended", within: .seconds(30)) { !product.isRunning }
            #expect(product.log.contains("port \(port) on 127.0.0.1 is in use"))
            await other.shutdown(within: .zero)
            try await product.remove()
        }
    }
}
