import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// While the database is away every call about accounts says so, and none goes half way.
@Suite(.timeLimit(.minutes(3))) struct AccountOutageTests {
    @Test func `every call is 503 with a time to try again, and goes on afterwards`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let database = try await authDatabase(postgres)
        try await withAuth(database: database) { auth async throws in
            let member = try await auth.member("ada")
            let admin = try await auth.staff(email: "root@example.org", in: database)
            let login = json(["handle": "ada", "password": goodPassword])
            let session = json(["email": "root@example.org", "password": goodPassword])
            let user = json([
                "name": "D", "email": "d@example.org", "password": goodPassword, "role": "driver",
            ])
            let change = json(["current": goodPassword, "new": "another password"])
            let one = "/api/v1/admin/users/\(admin.accountId)"
            let calls: [(HTTPMethod, String, String?, String?)] = [
                (
                    .post, "/api/v1/auth/register",
                    json(["handle": "eve", "password": "12345678"]), nil
                ),
                (.post, "/api/v1/auth/login", login, nil),
                (.post, "/api/v1/auth/session", session, nil),
                (.delete, "/api/v1/auth/session", nil, admin.token),
                (.post, "/api/v1/auth/refresh", json(["refresh_token": member.refreshToken]), nil),
                (.post, "/api/v1/auth/logout", nil, member.token),
                (.post, "/api/v1/auth/logout-all", nil, member.token),
                (.post, "/api/v1/auth/password", change, member.token),
                (.get, "/api/me", nil, member.token),
                (.get, "/api/me/export", nil, member.token),
                (.delete, "/api/me", json(["password": goodPassword]), member.token),
                (.get, "/api/v1/admin/users", nil, admin.token),
                (.post, "/api/v1/admin/users", user, admin.token),
                (.get, one, nil, admin.token),
                (.put, one, user, admin.token),
                (.delete, one, nil, admin.token),
            ]
            try await postgres.stop()
            for (method, path, body, token) in calls {
                let answer = try await auth.call(method, path, body, token: token)
                #expect(answer.status == 503, "\(method) \(path): \(answer.text)")
                #expect(answer.headers.first("Retry-After") == "2")
                #expect(answer.refusal?.code == "database.unavailable")
            }
            try await postgres.start()
            while try await auth.logIn(handle: "ada").status != 200 { await Task.yield() }
            #expect(try await auth.accepts(member.token))
            #expect(try await auth.accepts(admin.token))
            #expect(try await auth.refresh(member.refreshToken).status == 200)
            #expect(try await auth.signUp("eve").status == 201)
        }
    }
}
