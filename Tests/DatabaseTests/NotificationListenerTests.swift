import Database
import Synchronization
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct NotificationListenerTests {
    @Test func `hears its channels in order and nothing else`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let heard = Mutex<[String]>([])
        let listener = NotificationListener(
            test.configuration(),
            channels: ["bus", "We\"ird"],
            receive: { notice in
                heard.withLock { $0.append("\(notice.channel):\(notice.payload)") }
            }
        )
        _ = try await listener.backendPID()
        try await test.run("NOTIFY bus, '1'; NOTIFY other, 'x'; NOTIFY \"We\"\"ird\"")
        try await test.run("NOTIFY bus, '2'")
        try await test.run("NOTIFY bus, 'never'; ROLLBACK")
        try await test.run("NOTIFY bus, '3'")
        try await eventually("four notices") { heard.withLock { $0.count } >= 4 }
        #expect(heard.withLock { $0 } == ["bus:1", "We\"ird:", "bus:2", "bus:3"])
        await listener.close()
    }

    @Test func `listens again after its backend was killed and reads what it missed`()
        async throws
    {
        let test = try await ThrowawayPostgres.shared.database()
        let heard = Mutex<[String]>([])
        let sessions = Mutex(0)
        let listener = NotificationListener(
            test.configuration(),
            channels: ["bus"],
            connected: { _ in sessions.withLock { $0 += 1 } },
            receive: { notice in heard.withLock { $0.append(notice.payload) } }
        )
        let pid = try await listener.backendPID()
        try await test.run("SELECT pg_terminate_backend(\(pid), 5000); NOTIFY bus, 'missed'")
        try await eventually("a second session") { sessions.withLock { $0 } == 2 }
        try await test.run("NOTIFY bus, 'after'")
        try await eventually("the notice after it") { heard.withLock { $0.last } == "after" }
        await listener.close()
    }

    @Test func `listens again after the server was away`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let test = try await postgres.database()
        let heard = Mutex<[String]>([])
        let sessions = Mutex(0)
        let listener = NotificationListener(
            test.configuration(),
            channels: ["bus"],
            connected: { _ in sessions.withLock { $0 += 1 } },
            receive: { notice in heard.withLock { $0.append(notice.payload) } }
        )
        _ = try await listener.backendPID()
        try await postgres.restart()
        try await eventually("a second session") { sessions.withLock { $0 } == 2 }
        try await test.run("NOTIFY bus, 'back'")
        try await eventually("the notice after it") { heard.withLock { $0 } == ["back"] }
        await listener.close()
    }
}
