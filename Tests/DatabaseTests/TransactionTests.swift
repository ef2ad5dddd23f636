import Database
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct TransactionTests {
    private static let template = ThrowawayPostgres.Template("numbers") {
        connection throws(DatabaseError) in
        try connection.script(
            """
            CREATE TABLE numbers (n int PRIMARY KEY);
            CREATE TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED);
            """
        )
    }

    private func makeDatabase() async throws -> TestDatabase {
        try await ThrowawayPostgres.shared.database(Self.template)
    }

    @Test func `commits what returns and rolls back what throws`() async throws {
        let test = try await makeDatabase()
        let database = test.open()
        let count = try await database.transaction { connection throws(DatabaseError) in
            try connection.execute("INSERT INTO numbers VALUES (1), (2)")
        }
        #expect(count == 2)
        let error = await failure {
            try await database.transaction { connection throws(DatabaseError) in
                try connection.execute("INSERT INTO numbers VALUES (3)")
                try connection.execute("INSERT INTO numbers VALUES (1)")
            }
        }
        #expect(error?.isUniqueViolation == true)
        try await database.transaction { connection throws(DatabaseError) in
            try connection.execute("INSERT INTO numbers VALUES (4)")
            connection.rollBackAtEnd()
        }
        #expect(try await test.number("SELECT sum(n) FROM numbers") == 3)
        await database.close()
    }

    @Test func `an inner transaction fails alone`() async throws {
        let test = try await makeDatabase()
        let database = test.open()
        try await database.transaction { connection throws(DatabaseError) in
            try connection.execute("INSERT INTO numbers VALUES (1)")
            #expect(throws: DatabaseError.self) {
                try connection.transaction { () throws(DatabaseError) in
                    try connection.execute("INSERT INTO numbers VALUES (2)")
                    try connection.execute("INSERT INTO numbers VALUES (1)")
                }
            }
            try connection.transaction { () throws(DatabaseError) in
                try connection.execute("INSERT INTO numbers VALUES (4)")
                connection.rollBackAtEnd()
            }
            try connection.transaction { () throws(DatabaseError) in
                try connection.execute("INSERT INTO numbers VALUES (8)")
            }
        }
        #expect(try await test.number("SELECT sum(n) FROM numbers") == 9)
        await database.close()
    }

    @Test func `a constraint that fails at COMMIT is a statement's error`() async throws {
        let database = try await makeDatabase().open()
        let error = await failure {
            try await database.transaction { connection throws(DatabaseError) in
                try connection.execute("INSERT INTO late VALUES (1), (1)")
            }
        }
        #expect(error?.kind == .statement)
        #expect(error?.sqlState == "23505")
        await database.close()
    }

    @Test func `a swallowed error does not pass for a commit`() async throws {
        let database = try await makeDatabase().open()
        let error = await failure {
            try await database.transaction { connection in
                _ = try? connection.execute("INSERT INTO nowhere VALUES (1)")
            }
        }
        #expect(error?.kind == .statement)
        #expect(error?.sqlState == "25P02")
        await database.close()
    }

    @Test(arguments: SeveringProxy.Moment.allCases)
    func `a connection cut during COMMIT leaves the outcome unknown`(
        moment: SeveringProxy.Moment
    ) async throws {
        let test = try await makeDatabase()
        let proxy = try SeveringProxy(test)
        let database = Database(DatabaseConfiguration(url: proxy.url, connections: 1))
        proxy.severNextCommit(moment)
        let error = await failure {
            try await database.transaction { connection throws(DatabaseError) in
                try connection.execute("INSERT INTO numbers VALUES (1)")
            }
        }
        #expect(error?.kind == .outcomeUnknown)
        #expect(error?.isRetryable == true)
        let stored = try await test.number("SELECT count(*) FROM numbers")
        #expect(stored == (moment == .afterServer ? 1 : 0))
        // The pool finds the server again by itself.
        try await database.transaction { connection throws(DatabaseError) in
            try connection.execute("INSERT INTO numbers VALUES (2)")
        }
        await database.close()
    }

    @Test func `a backend killed before COMMIT was sent stored nothing`() async throws {
        let test = try await makeDatabase()
        let database = test.open(connections: 1)
        let error = await failure {
            try await database.transaction { connection throws(DatabaseError) in
                try connection.execute("INSERT INTO numbers VALUES (1)")
                try Connection.open(test.configuration()) { other throws(DatabaseError) in
                    #expect(try AdvisoryLock.fence(connection.backendPID, on: other))
                }
            }
        }
        #expect(error?.kind == .connection)
        #expect(try await test.number("SELECT count(*) FROM numbers") == 0)
        await database.close()
    }
}
