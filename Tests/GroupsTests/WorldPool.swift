import Database
import Synchronization
import TestKit

@testable import GroupsService

/// Databases that tests use one after the other: emptying one is ten times as quick as making one.
///
/// At most so many tests run at once; the others wait here and not inside their calls.
final class WorldPool: Sendable {
    static let shared = WorldPool(limit: 6)

    private struct State {
        var free: [TestDatabase] = []
        var running = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Lends an empty database with the schema of groups.
    func with(_ body: (TestDatabase) async throws -> Void) async throws {
        await enter()
        defer { leave() }
        var database = state.withLock { $0.free.popLast() }
        if database == nil {
            database = try await GroupsWorld.postgres.database(GroupsWorld.template)
        }
        guard let database else { return }
        try await body(database)
        try Connection.open(DatabaseConfiguration(url: database.url)) {
            connection throws(DatabaseError) in
            try connection.script(
                """
                TRUNCATE groups.accounts, groups.erased_accounts, groups.friendships, groups.groups,
                    groups.members, groups.fixes, groups.places, groups.events, groups.event_answers
                """
            )
        }
        state.withLock { $0.free.append(database) }
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let mayGo = state.withLock { state in
                guard state.running >= limit else {
                    state.running += 1
                    return true
                }
                state.waiters.append(continuation)
                return false
            }
            if mayGo { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
            state.running -= 1
            return nil
        }
        next?.resume()
    }
}
