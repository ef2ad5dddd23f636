import Database
import Messages
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import AuthService
@testable import Bus

/// What other services hear about accounts over the bus.
@Suite(.timeLimit(.minutes(1))) struct AccountLookupTests {
    private func lookup(
        _ database: TestDatabase,
        _ body: (AccountLookup) async throws -> Void
    ) async throws {
        let pool = database.open(role: Auth.schema.role)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(AccountLookup(database: pool, logger: .silent)))
        } catch {
            outcome = .failure(error)
        }
        await pool.close()
        try outcome.get()
    }

    @Test func `a member is found by the handle in any case`() async throws {
        let database = try await authDatabase()
        try await withAuth(database: database) { auth async throws in
            let ada = try await auth.member("Ada")
            let id = try #require(UniqueID(ada.accountId))
            let expected = AccountAnswer.Body.accounts([.init(id: id, handle: "Ada", name: "")])
            try await lookup(database) { lookup async throws in
                for handle in ["Ada", "ada", "ADA"] {
                    #expect(await lookup.answer(.handle(handle)) == expected)
                }
                for handle in ["", "ad", "adah", "ada ", "a%a", "a\0a"] {
                    #expect(await lookup.answer(.handle(handle)) == .accounts([]))
                }
                #expect(await lookup.answer(.ids([id, .random()])) == expected)
                #expect(await lookup.answer(.ids([])) == .accounts([]))
            }
        }
    }

    @Test func `staff are named by id and not found by a handle`() async throws {
        let database = try await authDatabase()
        try await withAuth(database: database) { auth async throws in
            let driver = try await auth.staff(.driver, email: "d@example.org", in: database)
            let id = try #require(UniqueID(driver.accountId))
            try await lookup(database) { lookup async throws in
                guard case .accounts(let found) = await lookup.answer(.ids([id])) else {
                    Issue.record("no answer")
                    return
                }
                #expect(found.map(\.id) == [id])
                #expect(found.first?.name.isEmpty == false)
            }
        }
    }

    @Test func `who is deactivated keeps the name and loses the handle, who is erased both`()
        async throws
    {
        let database = try await authDatabase()
        try await withAuth(database: database) { auth async throws in
            let id = try #require(UniqueID(try await auth.member("ada").accountId))
            try await lookup(database) { lookup async throws in
                try await database.query { connection throws(DatabaseError) in
                    _ = try connection.execute("UPDATE auth.accounts SET active = false")
                }
                #expect(await lookup.answer(.handle("ada")) == .accounts([]))
                #expect(
                    await lookup.answer(.ids([id]))
                        == .accounts([.init(id: id, handle: "ada", name: "")])
                )
                try await database.query { connection throws(DatabaseError) in
                    try connection.transaction { () throws(DatabaseError) in
                        try AccountRows.empty(id, at: 1, on: connection)
                    }
                }
                #expect(await lookup.answer(.ids([id])) == .accounts([]))
            }
        }
    }

    @Test func `a long question, a database that is away and noise are unavailable`()
        async throws
    {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let database = try await authDatabase(postgres)
        try await lookup(database) { lookup async throws in
            let ids = (0...AccountQuery.idLimit).map { _ in UniqueID.random() }
            #expect(await lookup.answer(.ids(Array(ids.dropLast()))) == .accounts([]))
            #expect(await lookup.answer(.ids(ids)) == .unavailable)
            try await postgres.stop()
            #expect(await lookup.answer(.handle("ada")) == .unavailable)
            let noise = BusRequest(
                body: [0xFF],
                deadline: .now,
                trace: .random(),
                sender: "groups"
            )
            let answer = try AccountAnswer(decoding: await lookup.answer(noise))
            #expect(answer.body == .unavailable)
        }
    }
}
