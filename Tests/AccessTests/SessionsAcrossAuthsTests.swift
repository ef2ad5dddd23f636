import AuthService
import Foundation
import ServiceKit
import TestKit
import Testing
import Web

/// What ends sessions at one auth ends them at another: two real ones over one database and bus.
@Suite(.timeLimit(.minutes(2))) struct SessionsAcrossAuthsTests {
    /// Promised is a second (ARCHITECTURE.md); a busy machine is given more.
    private static let bound = Duration.seconds(5)
    private static let newPassword = "another good password"

    enum Act: String, CaseIterable {
        case passwordChange = "a password change"
        case logOutEverywhere = "a log-out everywhere"
        case reuse = "a refresh token that was stolen and used"
        case deletion = "a deletion"
        case deactivation = "a deactivation by an admin"

        /// Whether the caller's own session goes on.
        var sparesCaller: Bool { self == .passwordChange }
        /// Whether the account can still log in.
        var keepsAccount: Bool { self != .deletion && self != .deactivation }
    }

    private struct Fleet {
        let client = AccountClient()
        let one: Int
        let two: Int
        let admin: String
    }

    @Test func `whatever ends sessions at one auth ends them at the other`() async throws {
        let fleet = try await TestFleet()
        let (first, one) = try await auth(in: fleet)
        let (second, two) = try await auth(in: fleet)
        try await AccountClient.addStaff(.admin, "root@example.org", in: fleet)
        let root = try await AccountClient().logIn(["email": "root@example.org"], at: one)
        let admin = try AccountClient().tokens(root).accessToken
        let both = Fleet(one: one, two: two, admin: admin)
        let bystander = try await both.client.signUp("bystander", at: one)
        for act in Act.allCases { try await check(act, both) }
        for port in [one, two] {
            #expect(try await both.client.accepts(bystander.accessToken, at: port))
        }
        #expect(try await both.client.refresh(bystander.refreshToken, at: two).status == 200)
        for service in [first, second] { await service.stop() }
        both.client.client.close()
    }

    private func auth(in fleet: TestFleet) async throws -> (RunningService, port: Int) {
        try await RunningService.start(
            Auth.definition,
            in: fleet,
            environment: AccountClient.environment,
            replacesHandlers: false
        )
    }

    private func check(_ act: Act, _ fleet: Fleet) async throws {
        let client = fleet.client
        let identity = try await account(for: act, fleet)
        let caller = try client.tokens(try await client.logIn(identity, at: fleet.one))
        let other = try client.tokens(try await client.logIn(identity, at: fleet.two))
        for token in [caller, other] {
            for port in [fleet.one, fleet.two] {
                #expect(try await client.accepts(token.accessToken, at: port), "\(act)")
            }
        }

        try await perform(act, caller, fleet)
        // The rows count at once, whoever is asked.
        #expect(try await client.refresh(other.refreshToken, at: fleet.two).status == 401, "\(act)")
        // Access tokens are refused at once by the auth that was asked, elsewhere within the bound.
        #expect(try await !client.accepts(other.accessToken, at: fleet.one), "\(act)")
        try await eventually("\(act) is known elsewhere", within: Self.bound) {
            try await !client.accepts(other.accessToken, at: fleet.two)
        }
        for port in [fleet.one, fleet.two] {
            let isAccepted = try await client.accepts(caller.accessToken, at: port)
            #expect(isAccepted == act.sparesCaller, "\(act)")
        }
        let refreshed = try await client.refresh(caller.refreshToken, at: fleet.two)
        #expect(refreshed.status == (act.sparesCaller ? 200 : 401), "\(act)")
        try await checkLogIn(act, identity, fleet)
    }

    private func checkLogIn(
        _ act: Act,
        _ identity: [String: String],
        _ fleet: Fleet
    ) async throws {
        let client = fleet.client
        let old = try await client.logIn(identity, at: fleet.two)
        let isOldRight = act.keepsAccount && act != .passwordChange
        #expect(old.status == (isOldRight ? 200 : 401), "\(act)")
        guard act.keepsAccount else { return }
        var credentials = identity
        if act == .passwordChange { credentials["password"] = Self.newPassword }
        let back = try client.tokens(try await client.logIn(credentials, at: fleet.two))
        for port in [fleet.one, fleet.two] {
            #expect(try await client.accepts(back.accessToken, at: port), "\(act)")
        }
    }

    /// An account to end sessions of: a driver where an admin does it, else a member.
    private func account(for act: Act, _ fleet: Fleet) async throws -> [String: String] {
        guard act == .deactivation else {
            let handle = "\(act)"
            _ = try await fleet.client.signUp(handle, at: fleet.two)
            return ["handle": handle]
        }
        let email = "dora@example.org"
        let answer = try await fleet.client.send(
            .post,
            "/api/v1/admin/users",
            [
                "name": "Dora", "email": email, "password": AccountClient.password,
                "role": "driver",
            ],
            token: fleet.admin,
            at: fleet.two
        )
        #expect(answer.status == 201)
        return ["email": email]
    }

    /// Does it at the first auth.
    private func perform(
        _ act: Act,
        _ caller: AccountClient.Tokens,
        _ fleet: Fleet
    ) async throws {
        let (client, token) = (fleet.client, caller.accessToken)
        let answer: HTTPClientResponse
        let expected: Int
        switch act {
        case .passwordChange:
            let fields = ["current": AccountClient.password, "new": Self.newPassword]
            let path = "/api/v1/auth/password"
            answer = try await client.send(.post, path, fields, token: token, at: fleet.one)
            expected = 204
        case .logOutEverywhere:
            let path = "/api/v1/auth/logout-all"
            answer = try await client.send(.post, path, token: token, at: fleet.one)
            expected = 204
        case .reuse:
            // The thief was quicker, at the other auth.
            let stolen = try await client.refresh(caller.refreshToken, at: fleet.two)
            #expect(stolen.status == 200)
            answer = try await client.refresh(caller.refreshToken, at: fleet.one)
            expected = 401
        case .deletion:
            let fields = ["password": AccountClient.password]
            answer = try await client.send(.delete, "/api/me", fields, token: token, at: fleet.one)
            // The other services, which must forget too, do not run.
            expected = 202
        case .deactivation:
            let fields: [String: any Sendable] = [
                "name": "Dora", "email": "dora@example.org", "role": "driver", "active": false,
            ]
            let path = "/api/v1/admin/users/\(caller.accountId)"
            answer = try await client.send(.put, path, fields, token: fleet.admin, at: fleet.one)
            expected = 200
        }
        #expect(answer.status == expected, "\(act)")
    }
}
