import AuthService
import ServiceKit
import Synchronization
import TestKit
import Testing
import Web

@testable import Operations

/// A rotation of the signing keys while members and drivers go on from token to token.
///
/// Refreshes are answered by whichever auth, old or new; groups takes the members' tokens, the feed
/// the drivers', and auth both. None of them but auth knows the secret.
@Suite(.timeLimit(.minutes(2))) struct AccountRotationTests {
    @Test func `an overlap of two generations costs no member and no driver a 401`() async throws {
        let fleet = try await TestFleet()
        var running: [String: (service: RunningService, port: Int)] = [:]
        func start(_ name: String, _ generation: Int) async throws {
            running["\(name) \(generation)"] = try await service(name, generation, in: fleet)
        }
        func set(_ load: AccountLoad, _ signers: [Int], _ verifiers: [String: [Int]]) {
            func ports(_ name: String, _ generations: [Int]) -> [Int] {
                generations.compactMap { running["\(name) \($0)"]?.port }
            }
            load.set(
                signers: ports("auth", signers),
                members: ports("groups", verifiers["groups"] ?? []),
                drivers: ports("feed", verifiers["feed"] ?? [])
            )
        }
        for name in ["auth", "groups", "feed"] { try await start(name, 1) }
        for number in 0..<2 {
            try await AccountClient.addStaff(.driver, "d\(number)@example.org", in: fleet)
        }
        let load = AccountLoad()
        set(load, [1], ["groups": [1], "feed": [1]])
        let people = (0..<4).map { number in Task { try await load.live(number) } }
        try await load.work(for: 30)

        // One after the other in any order, each of a service old and new side by side for a while.
        try await start("groups", 2)
        set(load, [1], ["groups": [1, 2], "feed": [1]])
        try await load.work(for: 60)
        try await start("auth", 2)
        set(load, [1, 2], ["groups": [1, 2], "feed": [1]])
        try await load.work(for: 100)
        try await start("feed", 2)
        set(load, [1, 2], ["groups": [1, 2], "feed": [1, 2]])
        try await load.work(for: 100)
        set(load, [2], ["groups": [2], "feed": [2]])
        try await load.work(for: 100)
        load.finish()
        for person in people { try await person.value }

        let result = load.result
        #expect(result.refused == [])
        #expect(result.generations == ["member.1", "member.2", "staff.1", "staff.2"])
        #expect(result.calls >= 390)

        // The drill can fail: another rotation later the first generation is void.
        try await start("groups", 3)
        let port = try #require(running["groups 3"]?.port)
        let members = load.tokens(of: 0)
        let first = try #require(members.first { DerivedKeys.generation(of: $0) == 1 })
        let second = try #require(members.first { DerivedKeys.generation(of: $0) == 2 })
        #expect(try await load.status("/api/friends", first, at: port) == 401)
        #expect(try await load.status("/api/friends", second, at: port) == 200)
        for (service, _) in running.values { await service.stop() }
        load.close()
    }

    private func service(
        _ name: String,
        _ generation: Int,
        in fleet: TestFleet
    ) async throws -> (RunningService, Int) {
        guard name != "auth" else {
            var environment = AccountClient.environment
            environment["JWT_KEY_GENERATION"] = "\(generation)"
            let (service, port) = try await RunningService.start(
                Auth.definition,
                in: fleet,
                environment: environment,
                replacesHandlers: false
            )
            return (service, port)
        }
        let definition = try #require(Operations.Fleet.definitions.first { $0.name == name })
        let (service, port) = try await RunningService.start(
            definition,
            in: fleet,
            environment: try DerivedKeys.environment(of: name, generation: generation)
        )
        return (service, port)
    }
}

/// People who refresh at whoever signs and try all their tokens at whoever verifies.
private final class AccountLoad: Sendable {
    struct Result {
        var calls = 0
        /// The status, path and generation of each valid token that was refused.
        var refused: [String] = []
        /// Family and generation of the tokens that were signed.
        var generations: Set<String> = []
    }

    private struct State {
        var signers: [Int] = []
        var members: [Int] = []
        var drivers: [Int] = []
        var tokens: [Int: [String]] = [:]
        var result = Result()
        var isFinished = false
    }

    private let state = Mutex(State())
    private let client = AccountClient()

    var result: Result { state.withLock { $0.result } }

    func tokens(of person: Int) -> [String] { state.withLock { $0.tokens[person] ?? [] } }

    func set(signers: [Int], members: [Int], drivers: [Int]) {
        state.withLock { state in
            state.signers = signers
            state.members = members
            state.drivers = drivers
        }
    }

    func finish() { state.withLock { $0.isFinished = true } }

    func close() { client.client.close() }

    /// Waits until some more calls were answered.
    func work(for calls: Int) async throws {
        let goal = result.calls + calls
        try await eventually("\(calls) more calls by the people") { result.calls >= goal }
    }

    /// Lives as a member, or with an odd number as a driver.
    func live(_ person: Int) async throws {
        let isDriver = person % 2 == 1
        let signer = state.withLock { $0.signers[0] }
        var tokens =
            isDriver
            ? try client.tokens(
                try await client.logIn(["email": "d\(person / 2)@example.org"], at: signer)
            )
            : try await client.signUp("member-\(person)", at: signer)
        note(tokens.accessToken, of: person)
        while !state.withLock({ $0.isFinished }) {
            let now = state.withLock { $0 }
            guard let signer = now.signers.randomElement() else { return }
            let refreshed = try await client.refresh(tokens.refreshToken, at: signer)
            count(refreshed.status, "refresh", tokens.accessToken)
            guard refreshed.status == 200 else { return }
            tokens = try client.tokens(refreshed)
            note(tokens.accessToken, of: person)
            let old = self.tokens(of: person).randomElement() ?? tokens.accessToken
            let path = isDriver ? "/api/v1/vehicles" : "/api/friends"
            for token in [tokens.accessToken, old] {
                for port in isDriver ? now.drivers : now.members {
                    count(try await status(path, token, at: port), path, token)
                }
                for port in now.signers {
                    count(try await status("/api/me", token, at: port), "/api/me", token)
                }
            }
        }
    }

    func status(_ path: String, _ token: String, at port: Int) async throws -> Int {
        try await client.send(.get, path, token: token, at: port).status
    }

    private func note(_ token: String, of person: Int) {
        let family = person % 2 == 1 ? "staff" : "member"
        state.withLock { state in
            state.tokens[person, default: []].append(token)
            state.result.generations.insert("\(family).\(DerivedKeys.generation(of: token))")
        }
    }

    private func count(_ status: Int, _ path: String, _ token: String) {
        state.withLock { state in
            state.result.calls += 1
            guard status == 401 || status == 403 else { return }
            let generation = DerivedKeys.generation(of: token)
            state.result.refused.append("\(status) at \(path), generation \(generation)")
        }
    }
}
