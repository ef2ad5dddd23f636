public import Bus
public import Database
public import Telemetry

/// The surroundings that a service is built in.
public struct ServiceContext: Sendable {
    /// The process's name in the fleet, `INSTANCE_ID`.
    public let instance: String
    /// All settings, checked.
    public let settings: Settings
    /// Writes with `service.name` and `service.instance` on each line.
    public let logger: Logger
    /// What `/metrics` shows.
    public let metrics: Metrics
    /// The application clock.
    public let clock: ApplicationClock
    /// What `/ready` answers.
    public let readiness: ReadinessBoard
    let optionalTokens: ProcessTokens?
    let optionalDatabase: (pool: Database, configuration: DatabaseConfiguration)?
    let optionalBus: Bus?

    /// The signing keys of the service's families; it must have declared some.
    public var keys: KeyRing { declared(optionalTokens?.keys, "key families") }

    /// What is known of revocations; the service must have declared some key families.
    public var revocations: RevocationView { declared(optionalTokens?.revocations, "key families") }

    /// The pool; the service must have declared a schema or the bus.
    public var database: Database { declared(optionalDatabase?.pool, "a database") }

    /// For connections of its own (a writer, a listener), in the service's role and schema.
    public var databaseConfiguration: DatabaseConfiguration {
        declared(optionalDatabase?.configuration, "a database")
    }

    /// The bus, not started yet: handlers and subscriptions are set up while building.
    public var bus: Bus { declared(optionalBus, "the bus") }

    private func declared<Value>(_ value: Value?, _ what: String) -> Value {
        guard let value else { preconditionFailure("the service's definition lacks \(what)") }
        return value
    }
}
