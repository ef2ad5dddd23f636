import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// A deletion in one process against everything that could give a token in another.
@Suite(.timeLimit(.minutes(3))) struct DeletionRaceTests {
    enum Rival: String, CaseIterable, CustomTestStringConvertible {
        case logIn = "a log-in"
        case refresh = "a refresh"
        case passwordChange = "a password change"
        case deletion = "another deletion"

        var testDescription: String { rawValue }
    }

    private let clock = ManualClock()

    @Test(arguments: Rival.allCases)
    func `no token survives a deletion, whichever came first`(rival: Rival) async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                for round in 0..<6 {
                    let handle = "ada-\(round)"
                    let member = try await one.member(handle)
                    let other = try await two.tokens(handle: handle)
                    async let deleted = delete(one, member)
                    async let answer = meet(rival, two, other, handle)
                    let (status, rivals) = try await (deleted, answer)
                    var tokens = [member, other]
                    switch (rival, rivals.status) {
                    case (.logIn, 200), (.refresh, 200): tokens.append(try rivals.decoded())
                    case (.passwordChange, 204):
                        // It came first: the password that the deletion was confirmed with is old.
                        #expect([204, 401, 403].contains(status), "\(status)")
                        if status != 204 { continue }
                    case (.deletion, 204), (.deletion, 401): break
                    default: #expect([401, 403].contains(rivals.status), "\(rivals.text)")
                    }
                    let statuses = rival == .deletion ? [status, rivals.status] : [status]
                    #expect(statuses.contains(204), "\(statuses)")
                    for token in tokens {
                        for auth in [one, two] { #expect(try await !auth.accepts(token.token)) }
                        #expect(try await two.refresh(token.refreshToken).status == 401)
                    }
                    #expect(try await two.logIn(handle: handle).status == 401)
                    #expect(try await !AuthDump(database).text.contains(member.accountId))
                }
            }
        }
    }

    private func delete(_ auth: AuthProcess, _ member: AuthProcess.Tokens) async throws -> Int {
        let body = json(["password": goodPassword])
        return try await auth.call(.delete, "/api/me", body, token: member.token).status
    }

    private func meet(
        _ rival: Rival,
        _ auth: AuthProcess,
        _ tokens: AuthProcess.Tokens,
        _ handle: String
    ) async throws -> HTTPClientResponse {
        switch rival {
        case .logIn: return try await auth.logIn(handle: handle)
        case .refresh: return try await auth.refresh(tokens.refreshToken)
        case .passwordChange:
            let body = json(["current": goodPassword, "new": "another good password"])
            return try await auth.call(.post, "/api/v1/auth/password", body, token: tokens.token)
        case .deletion:
            let body = json(["password": goodPassword])
            return try await auth.call(.delete, "/api/me", body, token: tokens.token)
        }
    }
}
