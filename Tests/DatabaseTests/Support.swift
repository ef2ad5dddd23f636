import Database
import Synchronization
import Telemetry
import TestKit
import Testing

extension TestDatabase {
    /// A configuration whose limits are short enough for tests.
    func configuration(role: String? = nil, queueLimit: Int = 1024) -> DatabaseConfiguration {
        DatabaseConfiguration(url: url, role: role, connections: 1, queueLimit: queueLimit)
    }

    /// Runs statements from outside the pool under test.
    func run(_ sql: String) async throws {
        let database = open(connections: 1)
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.script(sql)
        }
        await database.close()
    }

    /// Reads one whole number from outside the pool under test.
    func number(_ sql: String) async throws -> Int {
        let database = open(connections: 1)
        let number = try await database.withConnection { connection throws(DatabaseError) in
            try connection.query(sql).one().int(0)
        }
        await database.close()
        return number
    }
}

/// The error that `body` throws.
func failure<Value>(_ body: () async throws -> Value) async -> DatabaseError? {
    await #expect(throws: DatabaseError.self) { _ = try await body() }
}

/// A value that tasks and threads share; a `Mutex` of its own cannot be captured by child tasks.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }

    func change(_ body: @Sendable (inout Value) -> Void) { state.withLock { body(&$0) } }
}
