import Database
import Glibc
import Synchronization
import Testing

@testable import TestKit

@Suite(.timeLimit(.minutes(1))) struct AdvisoryLockTests {
    private let lock = AdvisoryLock(class: .slot, key: 255)

    @Test func `two owners share all 256 slots without overlap`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let first = DedicatedConnection(test.configuration(), name: "first")
        let second = DedicatedConnection(test.configuration(), name: "second")
        let all = (0...255).map { Int32($0) }
        let take: @Sendable (Connection) throws(DatabaseError) -> [Int32] = {
            connection throws(DatabaseError) in
            try AdvisoryLock.tryLock(.slot, keys: all, limit: 128, on: connection)
        }
        let taken = try await first.run(take)
        #expect(taken == Array(all[..<128]))
        #expect(try await second.run(take) == Array(all[128...]))
        let holders = try await first.run { connection throws(DatabaseError) in
            try AdvisoryLock.holders(of: .slot, on: connection)
        }
        #expect(holders.count == 256)
        #expect(Set(holders.values).count == 2)
        // Giving one back and taking what is free.
        let returned = try await first.run { connection throws(DatabaseError) in
            try AdvisoryLock(class: .slot, key: 5).unlock(on: connection)
        }
        #expect(returned)
        let moved = try await second.run { connection throws(DatabaseError) in
            try AdvisoryLock.tryLock(.slot, keys: [4, 5, 6], limit: 3, on: connection)
        }
        #expect(moved == [5])
        await first.close()
        // A closed session's locks are free once the server has noticed.
        let left = Shared(Set(all[..<128].filter { $0 != 5 }))
        try await eventually("the locks of the closed session are free") {
            let wanted = Array(left.value)
            let taken = try await second.run { connection throws(DatabaseError) in
                try AdvisoryLock.tryLock(.slot, keys: wanted, limit: 256, on: connection)
            }
            left.change { $0.subtract(taken) }
            return left.value.isEmpty
        }
        await second.close()
    }

    @Test func `locks are gone with their session and the owner hears of it`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let lost = Mutex<[Int]>([])
        let owner = DedicatedConnection(
            test.configuration(),
            name: "owner",
            lost: { generation, _ in lost.withLock { $0.append(generation) } }
        )
        let lock = lock
        let pid = try await owner.run { connection throws(DatabaseError) in
            #expect(try lock.tryLock(on: connection))
            #expect(connection.generation == 1)
            return connection.backendPID
        }
        try await test.run("SELECT pg_terminate_backend(\(pid), 5000)")
        // Heard although the owner asked nothing meanwhile.
        try await eventually("the owner hears of it") { lost.withLock { $0 } == [1] }
        try await eventually("the owner is back") { owner.generation == 2 && owner.isConnected }
        // Other suites lock in databases of their own on the same server.
        let free = try await test.number(
            """
            SELECT count(*) FROM pg_locks WHERE objid = 255
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        )
        #expect(free == 0)
        await owner.close()
        #expect(lost.withLock { $0 } == [1])
    }

    @Test(arguments: [nil, "fencing_role"])
    func `a frozen owner is fenced and what it had open never happens`(
        role: String?
    ) async throws {
        let test = try await ThrowawayPostgres.shared.database()
        try await test.run("CREATE TABLE t (n int)")
        if let role {
            try await test.run("CREATE ROLE \(role) NOLOGIN; GRANT ALL ON t TO \(role)")
        }
        let owner = try ClientProcess(
            test,
            """
            SELECT pg_advisory_lock(\(AdvisoryLock.Class.slot.rawValue), 255);
            BEGIN; INSERT INTO t VALUES (1);
            """
        )
        let lock = lock
        let heir = DedicatedConnection(test.configuration(role: role), name: "heir")
        let holder: @Sendable (Connection) throws(DatabaseError) -> Int32? = {
            connection throws(DatabaseError) in
            try AdvisoryLock.holders(of: .slot, on: connection)[255]
        }
        try await eventually("the lock is held") { try await heir.run(holder) != nil }
        try await eventually("the holder is in a transaction") {
            try await test.number(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
            ) > 0
        }
        owner.freeze()
        try await heir.run { connection throws(DatabaseError) in
            #expect(try !lock.tryLock(on: connection))
            guard let pid = try holder(connection) else {
                Issue.record("nobody holds the lock")
                return
            }
            #expect(try AdvisoryLock.fence(pid, on: connection))
            #expect(try lock.tryLock(on: connection))
            // Still working as the role it had.
            let user = try connection.query("SELECT current_user::text").one().text(0)
            #expect(user == role ?? "postgres")
        }
        owner.thaw("COMMIT;")
        try await owner.ended()
        #expect(try await test.number("SELECT count(*) FROM t") == 0)
        await heir.close()
    }

    @Test func `epochs only rise, also after a rollback`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        try await test.run("CREATE SEQUENCE slot_epochs")
        let database = test.open()
        let first = try await database.transaction { connection throws(DatabaseError) in
            connection.rollBackAtEnd()
            return try AdvisoryLock.nextEpoch(from: "slot_epochs", on: connection)
        }
        let second = try await database.withConnection { connection throws(DatabaseError) in
            try AdvisoryLock.nextEpoch(from: "public.slot_epochs", on: connection)
        }
        #expect(second > first)
        await database.close()
    }
}

/// Another process with a session of its own, which a test can freeze.
private final class ClientProcess {
    private let pid: pid_t
    private let input: Int32

    init(_ test: TestDatabase, _ sql: String) throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        pid = try spawn(["/usr/bin/psql", "--no-psqlrc", "--quiet", test.url], input: ends[0])
        close(ends[0])
        input = ends[1]
        say(sql)
    }

    deinit {
        kill(pid, SIGKILL)
        close(input)
    }

    func freeze() { kill(pid, SIGSTOP) }

    func thaw(_ sql: String) {
        say(sql)
        shutdown(input, Int32(SHUT_WR))
        kill(pid, SIGCONT)
    }

    func ended() async throws {
        let pid = pid
        try await eventually("the session's process ends") { waitpid(pid, nil, WNOHANG) == pid }
    }

    private func say(_ sql: String) {
        let line = sql + "\n"
        _ = send(input, line, line.utf8.count, Int32(MSG_NOSIGNAL))
    }
}
