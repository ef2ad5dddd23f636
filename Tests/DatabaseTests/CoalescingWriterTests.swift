import Database
import Synchronization
import Telemetry
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct CoalescingWriterTests {
    private static let template = ThrowawayPostgres.Template("written") {
        connection throws(DatabaseError) in
        try connection.script(
            "CREATE TABLE written (n int PRIMARY KEY CHECK (n >= 0), batch bigint NOT NULL)"
        )
    }

    /// A writer of whole numbers whose answer is the number of items in its batch.
    private struct Subject {
        let test: TestDatabase
        let connection: DedicatedConnection
        let writer: CoalescingWriter<Int, Int>
        let settled = Settled()

        init(url: String? = nil, queueLimit: Int = 2000, batchLimit: Int = 100) async throws {
            let test = try await ThrowawayPostgres.shared.database(template)
            self.init(test, url: url ?? test.url, queueLimit: queueLimit, batchLimit: batchLimit)
        }

        init(_ test: TestDatabase, url: String, queueLimit: Int = 2000, batchLimit: Int = 100) {
            self.test = test
            connection = DedicatedConnection(DatabaseConfiguration(url: url), name: "writer")
            let settled = settled
            writer = CoalescingWriter(
                over: connection,
                name: "test",
                batchLimit: batchLimit,
                queueLimit: queueLimit,
                commit: { connection, items throws(DatabaseError) in
                    try connection.execute(
                        """
                        INSERT INTO written SELECT n, txid_current() FROM unnest($1::bigint[]) AS n
                        """,
                        [.intArray(items.map(Int64.init))]
                    )
                    return items.map { _ in .success(items.count) }
                },
                settled: { items, outcome in settled.add(items, outcome) }
            )
        }

        /// Writes all items while the connection is held, so that they wait together.
        func writeTogether(_ items: [Int]) async throws -> [Int: Result<Int, DatabaseError>] {
            let gate = Gate()
            return try await withThrowingTaskGroup(
                of: (Int, Result<Int, DatabaseError>)?.self
            ) { group in
                group.addTask {
                    try await connection.run { _ in gate.wait() }
                    return nil
                }
                await gate.entered()
                for item in items {
                    group.addTask {
                        do {
                            return (item, .success(try await writer.write(item)))
                        } catch let error as DatabaseError {
                            return (item, .failure(error))
                        }
                    }
                }
                try await eventually("all items wait") { writer.waiting == items.count }
                gate.open()
                var results: [Int: Result<Int, DatabaseError>] = [:]
                for try await case (let item, let result)? in group { results[item] = result }
                return results
            }
        }
    }

    @Test func `commits all that waits in one transaction`() async throws {
        let subject = try await Subject()
        let results = try await subject.writeTogether(Array(0..<50))
        #expect(results.values.allSatisfy { (try? $0.get()) == 50 })
        let transactions = try await subject.test.number(
            "SELECT count(DISTINCT batch) FROM written"
        )
        #expect(transactions == 1)
        #expect(subject.settled.names == ["committed"])
        await subject.connection.close()
    }

    @Test(arguments: [(items: 100, transactions: 1), (items: 101, transactions: 2)])
    func `never commits more than its batch limit at once`(
        items: Int,
        transactions: Int
    ) async throws {
        let subject = try await Subject(batchLimit: 100)
        _ = try await subject.writeTogether(Array(0..<items))
        let made = try await subject.test.number("SELECT count(DISTINCT batch) FROM written")
        #expect(made == transactions)
        await subject.connection.close()
    }

    @Test func `one bad row fails only its own caller`() async throws {
        let subject = try await Subject()
        let results = try await subject.writeTogether([1, 2, -3, 4])
        for item in [1, 2, 4] { #expect((try? results[item]?.get()) == 1) }
        let error = #expect(throws: DatabaseError.self) { try results[-3]?.get() }
        #expect(error?.kind == .statement)
        #expect(error?.constraint == "written_n_check")
        #expect(try await subject.test.number("SELECT sum(n) FROM written") == 7)
        #expect(subject.settled.names.count(where: { $0 == "committed" }) == 3)
        #expect(subject.settled.names.count(where: { $0 == "rolled back" }) == 2)
        await subject.connection.close()
    }

    @Test(arguments: SeveringProxy.Moment.allCases)
    func `a lost COMMIT leaves every caller with an unknown outcome`(
        moment: SeveringProxy.Moment
    ) async throws {
        let test = try await ThrowawayPostgres.shared.database(Self.template)
        let proxy = try SeveringProxy(test)
        let subject = Subject(test, url: proxy.url)
        proxy.severNextCommit(moment)
        let results = try await subject.writeTogether([1, 2, 3])
        for item in [1, 2, 3] {
            let error = #expect(throws: DatabaseError.self) { try results[item]?.get() }
            #expect(error?.kind == .outcomeUnknown)
        }
        #expect(subject.settled.names == ["unknown"])
        let stored = try await test.number("SELECT count(*) FROM written")
        #expect(stored == (moment == .afterServer ? 3 : 0))
        // The next batch goes over a new session.
        #expect(try await subject.writer.write(9) == 1)
        #expect(subject.connection.generation == 2)
        await subject.connection.close()
    }

    @Test func `a database that is away refuses at once and is found again`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let test = try await postgres.database(Self.template)
        let subject = Subject(test, url: test.url)
        #expect(try await subject.writer.write(1) == 1)
        try await postgres.stop()
        let error = await failure { _ = try await subject.writer.write(2) }
        #expect(error?.kind == .connection)
        #expect(subject.settled.names.last == "rolled back")
        try await postgres.start()
        try await eventually("the server takes writes") {
            (try? await subject.writer.write(3)) == 1
        }
        #expect(try await test.number("SELECT sum(n) FROM written") == 4)
        await subject.connection.close()
    }

    @Test(arguments: [false, true])
    func `everything acknowledged before an outage is there after it`(
        restarts: Bool
    ) async throws {
        let postgres = try await ThrowawayPostgres.fresh()
        let test = try await postgres.database(Self.template)
        let subject = Subject(test, url: test.url)
        let acknowledged = Shared<Set<Int>>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<16 {
                group.addTask {
                    for step in 0..<40 {
                        let item = lane * 1000 + step
                        do {
                            _ = try await subject.writer.write(item)
                            acknowledged.change { _ = $0.insert(item) }
                        } catch {}
                    }
                }
            }
            group.addTask {
                try await eventually("fifty are acknowledged") { acknowledged.value.count >= 50 }
                if restarts {
                    try await postgres.restart()
                } else {
                    try await test.run(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE pid <> pg_backend_pid() AND datname = current_database()
                        """
                    )
                }
            }
            try await group.waitForAll()
        }
        try await eventually("the writer is connected") { subject.connection.isConnected }
        let stored = try await subject.connection.run { connection throws(DatabaseError) in
            var stored: Set<Int> = []
            for row in try connection.query("SELECT n FROM written") {
                stored.insert(try row.int("n"))
            }
            return stored
        }
        #expect(acknowledged.value.isSubset(of: stored))
        await subject.connection.close()
    }

    @Test func `refuses what its queue cannot hold`() async throws {
        let subject = try await Subject(queueLimit: 2)
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await subject.connection.run { _ in gate.wait() } }
            await gate.entered()
            for item in 0..<2 { group.addTask { _ = try await subject.writer.write(item) } }
            try await eventually("two wait") { subject.writer.waiting == 2 }
            let error = await failure { _ = try await subject.writer.write(2) }
            #expect(error?.kind == .full)
            gate.open()
            try await group.waitForAll()
        }
        await subject.connection.close()
        let error = await failure { _ = try await subject.writer.write(3) }
        #expect(error?.kind == .closed)
        #expect(try await subject.test.number("SELECT count(*) FROM written") == 2)
    }
}

/// How batches ended, in order.
private final class Settled: Sendable {
    private let state = Mutex<[String]>([])

    var names: [String] { state.withLock { $0 } }

    func add(_ items: [Int], _ outcome: BatchOutcome) {
        let name =
            switch outcome {
            case .committed: "committed"
            case .rolledBack: "rolled back"
            case .unknown: "unknown"
            }
        state.withLock { $0.append(name) }
    }
}
