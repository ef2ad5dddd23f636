internal import AuthService
internal import Bus
internal import Database
internal import FeedService
internal import GroupsService
internal import RelayService
internal import RiderIngestService
internal import ServiceKit
internal import VerifierService

/// The six services as `up` starts them and `migrate` prepares them.
enum Fleet {
    /// In the order of the start; none waits for the other, all wait for the database.
    static let definitions: [ServiceDefinition] = [
        Auth.definition, Verifier.definition, RiderIngest.definition, Feed.definition,
        Groups.definition, Relay.definition,
    ]

    /// The one service that knows the signing secret.
    static let signer = Auth.definition.name

    /// Every schema, those that others read first.
    static var schemas: [ServiceSchema] {
        [ServiceSchema("bus", migrations: BusMigrations.all)]
            + definitions.compactMap(\.schema)
    }

    /// How many of a service run.
    static func count(of service: String, _ settings: Settings) -> Int {
        switch service {
        case "auth": settings[UpSettings.auths]
        case "verifier": settings[UpSettings.verifiers]
        case "rider-ingest": settings[UpSettings.ingests]
        case "feed": settings[UpSettings.feeds]
        case "groups": settings[UpSettings.groups]
        case "relay": settings[UpSettings.relays]
        default: 1
        }
    }

    /// Brings every schema up to this program's version.
    ///
    /// - Returns: The migrations that were applied.
    /// - Throws: ``OperationError`` naming the schema and what to do.
    static func migrate(_ url: String) async throws -> [String] {
        let database = Database(
            DatabaseConfiguration(url: url, connections: 1, applicationName: "alongside-migrate")
        )
        let applied: Result<[String], OperationError>
        do throws(OperationError) {
            applied = .success(try await migrate(database))
        } catch {
            applied = .failure(error)
        }
        await database.close()
        return try applied.get()
    }

    private static func migrate(_ database: Database) async throws(OperationError) -> [String] {
        var applied: [String] = []
        for schema in schemas {
            do throws(DatabaseError) {
                applied += try await database.withConnection { connection throws(DatabaseError) in
                    try Migrator.migrate(
                        schema: schema.name,
                        role: schema.role,
                        migrations: schema.migrations,
                        on: connection
                    )
                }.map { "\(schema.name)/\($0)" }
            } catch {
                throw advice(error, schema.name)
            }
        }
        return applied
    }

    private static func advice(_ error: DatabaseError, _ schema: String) -> OperationError {
        switch error.kind {
        case .connection: OperationError(unreachable: error)
        default: OperationError("schema \(schema) cannot be migrated: \(error.message)")
        }
    }
}
