import Database
import Foundation
import Synchronization
import Testing

@testable import Operations

@Suite(.timeLimit(.minutes(3))) struct PrivatePostgresTests {
    @Test func `is made, adopted by the next run, stopped, and keeps its data`() async throws {
        let own = try OwnFolder()
        let folder = try DataFolder(opening: own.path)
        let first = try PrivatePostgres(in: folder)
        #expect(!first.isRunning)
        let surroundings = ["ALONGSIDE_DATA": own.path]
        #expect(throws: OperationError.self) { try OperatorDatabase(surroundings) }
        #expect(try await onOneThread { try first.start() } == false)
        defer { try? first.stop() }
        #expect(first.isRunning)
        try await onOneThread { try first.makeDatabase() }
        try await run("CREATE TABLE kept (number int); INSERT INTO kept VALUES (7)", on: first)

        // Another process would find it like this.
        let second = try PrivatePostgres(in: folder)
        #expect(second.isRunning)
        let beside = try OperatorDatabase(surroundings)
        #expect(beside == OperatorDatabase(url: second.url, folder: own.path))
        let other = try OperatorDatabase(["DATABASE_URL": "mine", "ALONGSIDE_DATA": own.path])
        #expect(other == OperatorDatabase(url: "mine", folder: nil))
        #expect(try await onOneThread { try second.start() } == true)
        try await onOneThread { try second.makeDatabase() }
        #expect(try await kept(on: second) == 7)

        try await onOneThread { try second.stop() }
        #expect(!second.isRunning)
        let error = #expect(throws: OperationError.self) { try OperatorDatabase(surroundings) }
        #expect(error?.description.contains("of \(own.path) does not run: start") == true)
        #expect(try await onOneThread { try second.start() } == false)
        #expect(try await kept(on: second) == 7)
        try await onOneThread { try second.stop() }
    }

    @Test func `data of another version is refused and left alone`() throws {
        let own = try OwnFolder()
        let folder = try DataFolder(opening: own.path)
        let postgres = try PrivatePostgres(in: folder)
        try FileManager.default.createDirectory(
            atPath: postgres.dataPath,
            withIntermediateDirectories: true
        )
        let version = postgres.dataPath + "/PG_VERSION"
        try "13\n".write(toFile: version, atomically: true, encoding: .utf8)
        let error = #expect(throws: OperationError.self) { try postgres.start() }
        #expect(error?.description.contains("belongs to PostgreSQL 13") == true)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: postgres.dataPath) == ["PG_VERSION"]
        )
    }

    @Test func `what a killed start left half made is made anew`() async throws {
        let own = try OwnFolder()
        let folder = try DataFolder(opening: own.path)
        let postgres = try PrivatePostgres(in: folder)
        let unfinished = postgres.dataPath + ".unfinished"
        try FileManager.default.createDirectory(
            atPath: unfinished,
            withIntermediateDirectories: true
        )
        try "15\n".write(toFile: unfinished + "/PG_VERSION", atomically: true, encoding: .utf8)
        #expect(try await onOneThread { try postgres.start() } == false)
        #expect(postgres.isRunning)
        try await onOneThread { try postgres.makeDatabase() }
        try await onOneThread { try postgres.stop() }
        #expect(!FileManager.default.fileExists(atPath: unfinished))
    }

    /// As when a volume is unmounted; an empty cluster in its place would be taken for the real one.
    @Test func `data that has gone is said once, waited for, and not made anew`() async throws {
        let own = try OwnFolder()
        let postgres = try PrivatePostgres(in: DataFolder(opening: own.path))
        let away = postgres.dataPath + ".away"
        let lines = try await onOneThread { () throws -> [String] in
            _ = try postgres.start()
            defer { try? postgres.stop() }
            let said = Mutex<[String]>([])
            var watch = DatabaseWatch(postgres) { line in said.withLock { $0.append(line) } }
            /// Ticks until it is so, 60 s at most.
            func wait(_ isSo: () -> Bool) {
                var rounds = 3000
                while !isSo(), rounds > 0 {
                    rounds -= 1
                    watch.tick()
                    usleep(20_000)
                }
            }
            let id = try #require(
                DataFolder.text(of: postgres.dataPath + "/postmaster.pid")?.split(separator: "\n")
                    .first.flatMap { pid_t($0) }
            )
            try FileManager.default.moveItem(atPath: postgres.dataPath, toPath: away)
            kill(id, SIGKILL)
            wait { !said.withLock { $0.isEmpty } }
            // Long enough for several more looks.
            let end = Supervisor.monotonicSeconds() + 1.5
            wait { Supervisor.monotonicSeconds() > end }
            #expect(!FileManager.default.fileExists(atPath: postgres.dataPath))
            try FileManager.default.moveItem(atPath: away, toPath: postgres.dataPath)
            wait { said.withLock { $0.last?.hasSuffix("was started again") == true } }
            #expect(postgres.isRunning)
            return said.withLock { $0 }
        }
        let sentence = "its data in \(postgres.dataPath) has gone"
        #expect(lines.filter { $0.contains(sentence) }.count == 1)
        #expect(lines.last == "the private PostgreSQL had ended and was started again")
    }

    private func run(_ sql: String, on postgres: PrivatePostgres) async throws {
        let database = Database(DatabaseConfiguration(url: postgres.url, connections: 1))
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.script(sql)
        }
        await database.close()
    }

    private func kept(on postgres: PrivatePostgres) async throws -> Int {
        let database = Database(DatabaseConfiguration(url: postgres.url, connections: 1))
        let number = try await database.withConnection { connection throws(DatabaseError) in
            try connection.query("SELECT number FROM kept").one().int(0)
        }
        await database.close()
        return number
    }
}
