import Telemetry
import TestKit
import Testing

@testable import Database

@Suite(.timeLimit(.minutes(1))) struct ServerWantTests {
    @Test(
        arguments: [
            ("53100", true), ("53200", true), ("53400", true), ("58030", true), ("25006", true),
            ("53300", false), ("23505", false), ("40001", false), ("57P01", false),
            ("22012", false),
        ] as [(String, Bool)]
    )
    func `keeps what the server lacks, on every connection of a configuration`(
        state: String,
        isWant: Bool
    ) async throws {
        let configuration = try await ThrowawayPostgres.shared.database().configuration()
        let pool = Database(configuration)
        let other = DedicatedConnection(configuration, name: "other")
        #expect(configuration.want.current == nil)
        let error = await failure {
            try await other.run { connection throws(DatabaseError) in
                try connection.script(
                    "DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '\(state)'; END $$"
                )
            }
        }
        #expect(error?.sqlState == state)
        #expect(configuration.want.current == (isWant ? "no room" : nil))
        try await pool.withConnection { connection throws(DatabaseError) in
            _ = try connection.query("SELECT 1")
        }
        #expect(configuration.want.current == (isWant ? "no room" : nil), "reading proves nothing")
        await other.close()
        await pool.close()
    }

    @Test func `forgets it half a minute later`() {
        let want = ServerWant()
        let second: UInt64 = 1_000_000_000
        want.note(DatabaseError(.statement, "no room", sqlState: "53100"), at: second)
        #expect(want.current(at: second) == "no room")
        #expect(want.current(at: 31 * second - 1) == "no room")
        #expect(want.current(at: 31 * second) == nil)
    }
}
