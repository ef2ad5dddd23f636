import Database
import Glibc
import Synchronization
import TestKit
import Transit

@testable import GroupsService

extension GroupsWorld {
    /// Runs calls while a row is locked, waits until so many transactions wait for it, and lets go.
    ///
    /// - Parameters:
    ///   - sql: A statement that locks rows.
    ///   - id: Its one parameter.
    ///   - waiting: Transactions that must wait before the lock goes.
    ///   - whileHeld: Runs once the lock is held, before the calls.
    ///   - calls: What is to meet the lock, all at once.
    /// - Throws: What a statement or a call throws.
    func holding(
        _ sql: String,
        _ id: UniqueID,
        untilWaiting waiting: Int,
        whileHeld: () async throws -> Void = {},
        _ calls: [@Sendable () async throws -> Void]
    ) async throws {
        let pool = database.open(connections: 1)
        let release = Flag()
        let isHeld = Flag()
        let holder = Task {
            try await pool.transaction { connection throws(DatabaseError) in
                try connection.query(sql, [.uuid(id)])
                isHeld.set()
                // The pool's own thread, which may block.
                while !release.isSet { usleep(500) }
            }
        }
        try await eventually("the lock is held") { isHeld.isSet }
        let running = Task {
            try await withThrowingTaskGroup { group in
                for call in calls { group.addTask { try await call() } }
                try await group.waitForAll()
            }
        }
        do {
            try await eventually("\(waiting) transactions wait") {
                try await self.waiting() >= waiting
            }
            try await whileHeld()
        } catch {
            release.set()
            throw error
        }
        release.set()
        try await running.value
        try await holder.value
        await pool.close()
    }

    /// Transactions that wait for a lock now.
    func waiting() async throws -> Int {
        try await count(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        )
    }
}

/// A flag that is set once.
final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}
