import Database
import Glibc
import Synchronization
import Telemetry
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct DatabasePoolTests {
    @Test func `goes on after its backend was killed`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let metrics = Metrics()
        let database = Database(test.configuration(), metrics: metrics)
        let statement = "SELECT pg_backend_pid()"
        let first = try await database.withConnection { connection throws(DatabaseError) in
            try connection.query(statement).one().int(0)
        }
        try await test.run("SELECT pg_terminate_backend(\(first), 5000)")
        // The same statement, which the new session has not prepared.
        let second = try await database.withConnection { connection throws(DatabaseError) in
            try connection.query(statement).one().int(0)
        }
        #expect(first != second)
        #expect(metrics.rendered().contains("database_connections_lost_total{pool=\"pool\"} 1"))
        await database.close()
    }

    @Test func `fails fast while the server is away and finds it again`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let test = try await postgres.database()
        let database = test.open()
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.script("CREATE TABLE t (n int); INSERT INTO t VALUES (7)")
        }
        try await postgres.stop()
        for _ in 0..<20 {
            let error = await failure {
                try await database.withConnection { connection throws(DatabaseError) in
                    try connection.query("SELECT n FROM t")
                }
            }
            #expect(error?.kind == .connection)
            #expect(error?.isRetryable == true)
        }
        #expect(!database.isConnected)
        try await postgres.start()
        try await eventually("the row is read again") {
            let rows = try? await database.withConnection { connection throws(DatabaseError) in
                try connection.query("SELECT n FROM t").one().int("n")
            }
            return rows == 7
        }
        try await eventually("the pool is connected") { database.isConnected }
        await database.close()
    }

    @Test func `refuses what its queue cannot hold`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let database = Database(test.configuration(queueLimit: 2))
        try await database.withConnection { _ in }
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await database.withConnection { _ in gate.wait() } }
            await gate.entered()
            // Two wait; their order against the third call does not matter, so they are counted.
            let outcomes = Outcomes()
            for _ in 0..<3 {
                group.addTask {
                    do {
                        try await database.withConnection { _ in }
                        outcomes.add(nil)
                    } catch let error as DatabaseError {
                        outcomes.add(error.kind)
                    }
                }
            }
            try await eventually("one is refused") { outcomes.all == [.full] }
            gate.open()
            try await group.waitForAll()
            #expect(outcomes.all.count(where: { $0 == nil }) == 2)
        }
        await database.close()
    }

    @Test func `closing refuses what waits and lets running work end`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let database = Database(test.configuration())
        try await database.withConnection { _ in }
        let gate = Gate()
        async let running: Int = database.withConnection { connection throws(DatabaseError) in
            gate.wait()
            return try connection.query("SELECT 1").one().int(0)
        }
        await gate.entered()
        async let closed: Void = database.close()
        try await eventually("the pool is closed") {
            do throws(DatabaseError) {
                try await database.withConnection { _ in }
                return false
            } catch {
                return error.kind == .closed
            }
        }
        gate.open()
        #expect(try await running == 1)
        await closed
    }

    @Test func `closing cuts work that does not end`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        var configuration = test.configuration()
        configuration.closeTimeout = .milliseconds(50)
        configuration.statementTimeout = .seconds(50)
        let database = Database(configuration)
        let started = Outcomes()
        let running = Task {
            await failure {
                try await database.withConnection { connection throws(DatabaseError) in
                    started.add(nil)
                    try connection.query("SELECT pg_sleep(40)")
                }
            }
        }
        try await eventually("the query runs") { started.all.count == 1 }
        await database.close()
        let error = await running.value
        #expect(error?.kind == .connection)
    }

    @Test func `gives a frozen server up`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        var configuration = test.configuration()
        configuration.statementTimeout = .milliseconds(100)
        configuration.answerMargin = .milliseconds(100)
        let database = Database(configuration)
        let pid = try await database.withConnection { connection in connection.backendPID }
        #expect(kill(pid, SIGSTOP) == 0)
        defer { kill(pid, SIGCONT) }
        let error = await failure {
            try await database.withConnection { connection throws(DatabaseError) in
                try connection.query("SELECT 1")
            }
        }
        #expect(error?.kind == .connection)
        #expect(error?.message == "the server did not answer in time")
        #expect(try await database.withConnection { $0.backendPID } != pid)
        await database.close()
    }

    @Test func `cancels a statement that runs too long`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        var configuration = test.configuration()
        configuration.statementTimeout = .milliseconds(50)
        let database = Database(configuration)
        let error = await failure {
            try await database.withConnection { connection throws(DatabaseError) in
                try connection.query("SELECT pg_sleep(40)")
            }
        }
        #expect(error?.sqlState == "57014")
        #expect(error?.isRetryable == true)
        await database.close()
    }

    @Test func `rolls back a transaction that a job left open`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let database = Database(test.configuration())
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.script("BEGIN; CREATE TABLE t (n int)")
        }
        #expect(
            try await test.number("SELECT count(*) FROM pg_tables WHERE tablename = 't'") == 0
        )
        await database.close()
    }
}

/// Holds a thread until a test lets it go.
final class Gate: Sendable {
    private let state = Mutex((entered: false, open: false))

    func wait() {
        state.withLock { $0.entered = true }
        while !state.withLock({ $0.open }) { usleep(1000) }
    }

    func entered() async {
        while !state.withLock({ $0.entered }) { await Task.yield() }
    }

    func open() { state.withLock { $0.open = true } }
}

/// What happened, in order; nil for success.
final class Outcomes: Sendable {
    private let state = Mutex<[DatabaseError.Kind?]>([])

    var all: [DatabaseError.Kind?] { state.withLock { $0 } }

    func add(_ kind: DatabaseError.Kind?) { state.withLock { $0.append(kind) } }
}
