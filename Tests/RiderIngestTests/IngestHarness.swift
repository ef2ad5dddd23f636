import Bus
import Messages
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Transit
import Web

@testable import RiderIngestService

/// Verifiers that answer from a script, on a monotonic clock that moves only when someone waits.
final class FakeVerifiers: Sendable {
    /// What one verifier was asked.
    struct Ask: Sendable {
        let instance: String
        let request: RideRequest
        let timeout: Duration
    }

    /// What it does.
    enum Outcome: Sendable {
        case reply(RideReply.Body)
        case bytes([UInt8])
        case fault(BusError)
    }

    private struct State {
        var asks: [Ask] = []
        var elapsed = Duration.zero
        var living: [String] = ["a", "b"]
        var whenWaiting: @Sendable (Duration) -> Void = { _ in }
    }

    private let state = Mutex(State())
    private let start = ContinuousClock.now
    private let script: @Sendable (_ ask: Ask, _ index: Int) -> Outcome

    init(_ script: @escaping @Sendable (_ ask: Ask, _ index: Int) -> Outcome) {
        self.script = script
    }

    var asks: [Ask] { state.withLock { $0.asks } }
    var instances: [String] { asks.map(\.instance) }
    var bodies: [RideRequest.Body] { asks.map(\.request.body) }
    /// How long the callers waited in all.
    var elapsed: Duration { state.withLock { $0.elapsed } }

    func setLiving(_ instances: [String]) { state.withLock { $0.living = instances } }

    /// Runs `body` with the time that has passed, each time a caller has waited.
    func whenWaiting(_ body: @escaping @Sendable (Duration) -> Void) {
        state.withLock { $0.whenWaiting = body }
    }

    var transport: VerifierClient.Transport {
        VerifierClient.Transport(
            ask: { bytes, instance, timeout, _ throws(BusError) in
                guard let request = try? RideRequest(decoding: bytes) else {
                    throw .configuration("the request does not decode")
                }
                let ask = Ask(instance: instance, request: request, timeout: timeout)
                let index = self.state.withLock { state in
                    state.asks.append(ask)
                    return state.asks.count - 1
                }
                switch self.script(ask, index) {
                case .reply(let body): return RideReply(to: request, body).encoded()
                case .bytes(let bytes): return bytes
                case .fault(let error): throw error
                }
            },
            living: { self.state.withLock { $0.living } },
            sleep: { duration in
                let (elapsed, body) = self.state.withLock { state in
                    state.elapsed += duration
                    return (state.elapsed, state.whenWaiting)
                }
                body(elapsed)
            },
            now: { self.start + self.elapsed }
        )
    }
}

extension SlotTable {
    /// A table of one instance.
    static func of(_ instance: String, epoch: UInt64 = 1, _ slots: [Slot] = Slot.all) -> SlotTable {
        SlotTable(
            instance: instance,
            sequence: epoch,
            slots: slots.map { Entry(slot: $0, epoch: epoch) }
        )
    }
}

/// One running rider-ingest: a real server over verifiers that a test scripts.
struct IngestProcess: Sendable {
    static let now: UnixSeconds = 1_771_257_600

    let port: Int
    let client: HTTPClient
    let verifiers: FakeVerifiers
    let token: String
    let adminToken: String
    let driverToken: String
    let rider: UniqueID

    func get(_ path: String) async throws -> HTTPClientResponse {
        try await client.get("http://127.0.0.1:\(port)\(path)", headers: [bearer])
    }

    /// Asks as an administrator.
    func admin(_ path: String, token: String? = nil) async throws -> HTTPClientResponse {
        try await client.get(
            "http://127.0.0.1:\(port)/api/v1/admin/rider/\(path)",
            headers: [("Authorization", "Bearer \(token ?? adminToken)")]
        )
    }

    func post(
        _ path: String,
        _ body: String,
        contentType: String = "application/json",
        token: String? = nil
    ) async throws -> HTTPClientResponse {
        try await client.send(
            .post,
            "http://127.0.0.1:\(port)/api/v1/rider/\(path)",
            headers: [
                token.map { ("Authorization", "Bearer \($0)") } ?? bearer,
                ("Content-Type", contentType),
            ],
            body: Array(body.utf8)
        )
    }

    /// Posts bytes as a rider, with these headers beside the token.
    func send(
        _ path: String,
        _ body: [UInt8],
        _ headers: [(String, String)]
    ) async throws -> HTTPClientResponse {
        try await client.send(
            .post,
            "http://127.0.0.1:\(port)/api/v1/rider/\(path)",
            headers: [bearer] + headers,
            body: body
        )
    }

    private var bearer: (String, String) { ("Authorization", "Bearer \(token)") }
}

/// What the verifiers answer, asked by asked.
func answering(
    _ script: @escaping @Sendable (_ ask: FakeVerifiers.Ask, _ index: Int) -> FakeVerifiers.Outcome
) -> @Sendable (FakeVerifiers.Ask, Int) -> FakeVerifiers.Outcome {
    script
}

/// Runs the rider API in this process over verifiers that always say the same.
func withIngest(
    answering outcome: FakeVerifiers.Outcome,
    authorizer: (any Authorizer)? = nil,
    publishedInterval: Int? = nil,
    _ body: (IngestProcess) async throws -> Void
) async throws {
    let always: @Sendable (FakeVerifiers.Ask, Int) -> FakeVerifiers.Outcome = { _, _ in outcome }
    try await withIngest(
        always,
        authorizer: authorizer,
        publishedInterval: publishedInterval,
        body
    )
}

/// Runs the rider API in this process; verifier `a` owns every slot.
func withIngest(
    _ script: @escaping @Sendable (_ ask: FakeVerifiers.Ask, _ index: Int) -> FakeVerifiers.Outcome,
    authorizer: (any Authorizer)? = nil,
    agencies: AgencyBoard = AgencyBoard(),
    isEnabled: Bool = true,
    publishedInterval: Int? = nil,
    _ body: (IngestProcess) async throws -> Void
) async throws {
    let clock = ManualClock(IngestProcess.now)
    let tokens = TestTokens(clock: clock.application)
    let verifiers = FakeVerifiers(script)
    let client = VerifierClient(verifiers.transport, metrics: Metrics())
    client.heard(.of("a"))
    var riders = RiderEndpoints(verifiers: client, now: { clock.now })
    if let publishedInterval { riders.cadence.publishedIntervalSeconds = publishedInterval }
    let server = try HTTPServer(
        endpoints: (isEnabled ? riders.all : [])
            + AdminEndpoints(
                verifiers: isEnabled ? client : nil,
                agencies: agencies,
                now: { clock.now }
            ).all,
        authorizer: authorizer ?? tokens.verifier([.rider, .staff])
    )
    let rider = UniqueID.random()
    let http = HTTPClient()
    let outcome: Result<Void, any Error>
    do {
        let process = IngestProcess(
            port: try server.start(),
            client: http,
            verifiers: verifiers,
            token: tokens.token(.rider, subject: rider),
            adminToken: tokens.token(.admin),
            driverToken: tokens.token(.driver),
            rider: rider
        )
        outcome = .success(try await body(process))
    } catch {
        outcome = .failure(error)
    }
    http.close()
    await server.shutdown(within: .seconds(1))
    try outcome.get()
}

extension HTTPClientResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// The body of an error.
func refusal(_ error: String, _ code: String, more: String = "") -> String {
    "{\"error\":\"\(error)\",\"code\":\"\(code)\"\(more)}"
}
