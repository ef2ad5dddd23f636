import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// Somebody can always let others in: the last active admin stays one (spec 1.3).
@Suite(.timeLimit(.minutes(1))) struct LastAdminTests {
    private let clock = ManualClock()
    private let path = "/api/v1/admin/users"
    private let demotion = json(["name": "R", "email": "r@example.org", "role": "driver"])
    private let deactivation =
        #"{"name":"R","email":"r@example.org","role":"admin","active":false}"#

    @Test func `cannot be deactivated, demoted or deleted`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            // Neither a driver nor an admin who is switched off could take over.
            try await addStaff(.driver, email: "dora@example.org", in: database)
            try await addStaff(email: "off@example.org", in: database)
            try await database.query { connection throws(DatabaseError) in
                try connection.script(
                    "UPDATE auth.accounts SET active = false WHERE email_key = 'off@example.org'"
                )
            }
            let root = try await auth.staff(email: "root@example.org", in: database)
            let one = "\(path)/\(root.accountId)"
            let answers = [
                (try await auth.call(.put, one, deactivation, token: root.token), "deactivate"),
                (try await auth.call(.put, one, demotion, token: root.token), "demote"),
                (try await auth.call(.delete, one, token: root.token), "delete"),
            ]
            for (answer, verb) in answers {
                #expect(answer.status == 409)
                #expect(answer.refusal?.error == "cannot \(verb) the last active admin")
                #expect(answer.refusal?.code == "user.last_admin")
            }
            #expect(try await auth.accepts(root.token))
            // With a second one, each of them can go.
            try await addStaff(email: "second@example.org", in: database)
            #expect(try await auth.call(.put, one, demotion, token: root.token).status == 200)
            #expect(try await !auth.accepts(root.token))
        }
    }

    @Test(arguments: 0..<6)
    func `of two admins who remove each other at once, one stays`(round: Int) async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                let first = try await one.staff(email: "a@example.org", in: database)
                let second = try await two.staff(email: "b@example.org", in: database)
                func remove(
                    _ other: AuthProcess.Tokens,
                    by admin: AuthProcess.Tokens,
                    _ auth: AuthProcess
                ) async throws -> Int {
                    let url = "\(path)/\(other.accountId)"
                    switch round % 3 {
                    case 0: return try await auth.call(.delete, url, token: admin.token).status
                    case 1:
                        return try await auth.call(.put, url, demotion, token: admin.token).status
                    default:
                        return try await auth.call(
                            .put,
                            url,
                            deactivation,
                            token: admin.token
                        ).status
                    }
                }
                async let left = remove(second, by: first, one)
                async let right = remove(first, by: second, two)
                let statuses = try await [left, right]
                let done = round % 3 == 0 ? 204 : 200
                #expect(statuses.filter { $0 == done }.count == 1, "\(statuses)")
                // The other one was the last, or had been logged out already.
                #expect(statuses.allSatisfy { [done, 409, 401].contains($0) }, "\(statuses)")
                let admins = try await database.query { connection throws(DatabaseError) in
                    try StaffRows.lockActiveAdmins(on: connection).count
                }
                #expect(admins == 1)
            }
        }
    }
}
