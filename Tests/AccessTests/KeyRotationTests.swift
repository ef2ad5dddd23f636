import AuthService
import Foundation
import RiderIngestService
import ServiceKit
import Synchronization
import TestKit
import Testing
import Web

@testable import Operations

/// A rotation of the signing keys while riders register and report: not one valid token is refused.
///
/// Auth signs and ingest verifies, each as a service of its own over HTTP. Ingest holds derived keys
/// alone. The old and the new generation of both run side by side for a while, as in a rolling
/// restart, and every token is tried at each of them.
@Suite(.timeLimit(.minutes(2))) struct KeyRotationTests {
    @Test func `an overlap of two generations costs no rider a 401`() async throws {
        let fleet = try await TestFleet()
        let load = Load()
        let (oldAuth, oldAuthPort) = try await auth(in: fleet, generation: 1)
        let (oldIngest, oldIngestPort) = try await ingest(in: fleet, generation: 1)
        load.set(signers: [oldAuthPort], verifiers: [oldAuthPort, oldIngestPort])
        let riders = (0..<4).map { _ in Task { try await load.ride() } }
        try await load.work(for: 20)

        // Verifiers and signers may be restarted in any order: here the signer comes first, so that
        // the old ingest meets tokens of a generation it does not sign with.
        let (newAuth, newAuthPort) = try await auth(in: fleet, generation: 2)
        load.set(
            signers: [oldAuthPort, newAuthPort],
            verifiers: [oldAuthPort, newAuthPort, oldIngestPort]
        )
        try await load.work(for: 100)
        let (newIngest, newIngestPort) = try await ingest(in: fleet, generation: 2)
        load.set(
            signers: [oldAuthPort, newAuthPort],
            verifiers: [oldAuthPort, newAuthPort, oldIngestPort, newIngestPort]
        )
        try await load.work(for: 100)
        load.set(signers: [newAuthPort], verifiers: [newAuthPort, newIngestPort])
        try await load.work(for: 100)
        load.finish()
        for rider in riders { try await rider.value }
        for service in [oldAuth, oldIngest] { await service.stop() }

        let result = load.result
        #expect(result.refused == [])
        #expect(result.generations == [1, 2])
        #expect(result.calls > 300)

        // The drill can fail: another rotation later the first generation is void.
        let (thirdIngest, thirdPort) = try await ingest(in: fleet, generation: 3)
        let first = try #require(load.tokens.first { DerivedKeys.generation(of: $0) == 1 })
        let second = try #require(load.tokens.first { DerivedKeys.generation(of: $0) == 2 })
        #expect(try await load.status(first, at: thirdPort) == 401)
        #expect(try await load.status(second, at: thirdPort) == 200)
        for service in [newAuth, newIngest, thirdIngest] { await service.stop() }
        load.close()
    }

    private func auth(
        in fleet: TestFleet,
        generation: Int
    ) async throws -> (RunningService, port: Int) {
        try await RunningService.start(
            Auth.definition,
            in: fleet,
            environment: [
                "JWT_KEY_GENERATION": "\(generation)", "RIDER_REGISTRATION_LIMIT": "1000000",
            ],
            replacesHandlers: false
        )
    }

    /// An ingest that knows what `alongside keys derive` prints for it, and not the secret.
    private func ingest(
        in fleet: TestFleet,
        generation: Int
    ) async throws -> (RunningService, port: Int) {
        let environment = try DerivedKeys.environment(of: "rider-ingest", generation: generation)
        #expect(environment.keys.sorted() == ["JWT_KEY_RIDER", "JWT_KEY_STAFF", "JWT_SECRET"])
        return try await RunningService.start(
            RiderIngest.definition,
            in: fleet,
            environment: environment
        )
    }
}

/// Riders who register with whoever signs and try all their tokens with whoever verifies.
private final class Load: Sendable {
    struct Result {
        var calls = 0
        /// The status, path and generation of each valid token that was refused.
        var refused: [String] = []
        var generations: Set<Int> = []
    }

    private struct State {
        var signers: [Int] = []
        var verifiers: [Int] = []
        var tokens: [String] = []
        var result = Result()
        var isFinished = false
    }

    private let state = Mutex(State())
    private let client = HTTPClient()

    var result: Result { state.withLock { $0.result } }
    var tokens: [String] { state.withLock { $0.tokens } }

    func set(signers: [Int], verifiers: [Int]) {
        state.withLock { state in
            state.signers = signers
            state.verifiers = verifiers
        }
    }

    func finish() { state.withLock { $0.isFinished = true } }

    func close() { client.close() }

    /// Waits until some more calls were answered.
    func work(for calls: Int) async throws {
        let goal = result.calls + calls
        try await eventually("\(calls) more calls by the riders") { result.calls >= goal }
    }

    func ride() async throws {
        while !state.withLock({ $0.isFinished }) {
            let (signers, verifiers) = state.withLock { ($0.signers, $0.verifiers) }
            guard let signer = signers.randomElement() else { return }
            let token = try await register(at: signer)
            state.withLock { state in
                state.tokens.append(token)
                state.result.generations.insert(DerivedKeys.generation(of: token))
            }
            for port in verifiers {
                let tokens = [token, tokens.randomElement() ?? token]
                for token in tokens {
                    let status = try await status(token, at: port)
                    state.withLock { state in
                        state.result.calls += 1
                        guard status == 401 || status == 403 else { return }
                        state.result.refused.append(
                            "\(status) at \(port), generation \(DerivedKeys.generation(of: token))"
                        )
                    }
                }
            }
        }
    }

    /// The status of a rider's call: ingest's handler says 200, auth's that no verifier is there.
    func status(_ token: String, at port: Int) async throws -> Int {
        let url = "http://127.0.0.1:\(port)"
        let headers = [("Authorization", "Bearer \(token)")]
        let answer = try await client.get(url + "/api/v1/rider/trips/T/status", headers: headers)
        if answer.status != 404 { return answer.status }
        return try await client.get(url + "/api/v1/rider/me/export", headers: headers).status
    }

    private func register(at port: Int) async throws -> String {
        struct Registration: Decodable { let token: String }
        let body = #"{"installation_id":"\#(UUID().uuidString)","platform":"other"}"#
        let answer = try await client.send(
            .post,
            "http://127.0.0.1:\(port)/api/v1/rider/register",
            headers: [("Content-Type", "application/json")],
            body: Array(body.utf8)
        )
        return try JSONDecoder().decode(Registration.self, from: Data(answer.body)).token
    }
}
