internal import ClientTransport
internal import Foundation

/// The calls of circles, convoys and friends, for whoever is signed in.
///
/// Each call takes a token from the session; one that the server refuses is replaced once, and the
/// call is sent once more. No call is repeated otherwise: repeating is the caller's decision. A
/// call without an answer fails after 20 s, as does one for which the session has no token for so
/// long; in a task that is cancelled each throws `CancellationError` at once.
public struct CompanionAPI: Sendable {
    /// A call without an answer for this long has failed; the kit's own transport gives up before.
    static let callTimeout = Duration.seconds(20)

    let transport: any CompanionTransport
    let session: any SessionProvider
    let clock: any CompanionClock
    /// Whose calls these are; nil for whoever is signed in.
    private let caller: AccountID?

    /// Makes the calls.
    ///
    /// - Parameters:
    ///   - transport: Carries them.
    ///   - session: Says who calls.
    ///   - clock: Measures how long a call may take.
    public init(
        transport: any CompanionTransport,
        session: any SessionProvider,
        clock: any CompanionClock = SystemCompanionClock()
    ) {
        self.init(transport: transport, session: session, clock: clock, caller: nil)
    }

    private init(
        transport: any CompanionTransport,
        session: any SessionProvider,
        clock: any CompanionClock,
        caller: AccountID?
    ) {
        self.transport = transport
        self.session = session
        self.clock = clock
        self.caller = caller
    }

    /// The calls of one account: none goes out in the name of somebody else who has signed in.
    func acting(as account: AccountID) -> CompanionAPI {
        CompanionAPI(transport: transport, session: session, clock: clock, caller: account)
    }

    // MARK: - Sending

    func get<Answer: Decodable>(
        _ path: String,
        query: [String: String] = [:]
    ) async throws -> Answer {
        try WireCoding.read(try await call("GET", path, query: query))
    }

    func send<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ body: some Encodable
    ) async throws -> Answer {
        try WireCoding.read(try await call(method, path, body: try WireCoding.body(body)))
    }

    /// Sends a call whose answer has no body that matters.
    func post(_ path: String, _ body: some Encodable) async throws {
        _ = try await call("POST", path, body: try WireCoding.body(body))
    }

    func delete(_ path: String) async throws {
        _ = try await call("DELETE", path)
    }

    /// Sends a call.
    ///
    /// - Returns: An answer from 200 to 299.
    /// - Throws: ``CompanionError``, or `CancellationError` when the task was cancelled.
    func call(
        _ method: String,
        _ path: String,
        query: [String: String] = [:],
        body: Data? = nil
    ) async throws -> CompanionResponse {
        let state = await session.state()
        guard let account = state.account, caller == nil || caller == account.id else {
            throw CompanionError.notSignedIn
        }
        let token = try await token(replacing: nil, in: state)
        var request = CompanionRequest(
            method: method,
            path: path,
            query: query,
            body: body,
            bearerToken: token
        )
        var response = try await answer(to: request, from: account.serverURL)
        if response.status == 401 {
            request.bearerToken = try await self.token(replacing: token, in: state)
            response = try await answer(to: request, from: account.serverURL)
        }
        guard response.status != 401 else { throw CompanionError.notSignedIn }
        return try WireCoding.accepted(response)
    }

    private func answer(
        to request: CompanionRequest,
        from serverURL: URL
    ) async throws -> CompanionResponse {
        try await transport.answer(to: request, from: serverURL, clock: clock)
    }

    /// A token of the session in which a call began.
    ///
    /// Someone else may sign in meanwhile, on another server: their token is not for this call.
    private func token(
        replacing refused: String?,
        in state: SessionState
    ) async throws -> String {
        let token: BearerToken
        do {
            token = try await clock.deadline(Self.callTimeout).run { [session] in
                try await session.token(replacing: refused)
            }
        } catch is Deadline.Passed {
            throw CompanionError.transport("there is no token to call with")
        }
        guard await session.state() == state else { throw CompanionError.notSignedIn }
        return token.text
    }
}

extension CompanionTransport {
    /// Sends a request and waits for its answer, but not for ever; what the transport threw comes
    /// as the kit's error.
    ///
    /// A cancelled task sees `CancellationError` at once; a transport that gives up by itself has
    /// failed.
    func answer(
        to request: CompanionRequest,
        from serverURL: URL,
        clock: any CompanionClock
    ) async throws -> CompanionResponse {
        let deadline = clock.deadline(CompanionAPI.callTimeout)
        do {
            return try await deadline.run { try await self.send(request, serverURL: serverURL) }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            if let error = error as? CompanionError { throw error }
            if error is Deadline.Passed {
                throw CompanionError.transport("the server does not answer")
            }
            throw CompanionError.transport(error.localizedDescription)
        }
    }
}

/// Bodies and answers as the wire has them.
enum WireCoding {
    private struct Refusal: Decodable {
        var error: String?
        var code: String?
    }

    static func body(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    static func accepted(_ response: CompanionResponse) throws(CompanionError) -> CompanionResponse
    {
        guard !(200...299 ~= response.status) else { return response }
        let refusal = try? JSONDecoder().decode(Refusal.self, from: response.body)
        throw .server(
            status: response.status,
            code: refusal?.code ?? "",
            message: refusal?.error ?? "the server answered \(response.status)",
            retryAfter: response.retryAfter
        )
    }

    static func read<Answer: Decodable>(
        _ response: CompanionResponse
    ) throws(CompanionError) -> Answer {
        do {
            return try JSONDecoder().decode(Answer.self, from: response.body)
        } catch {
            throw .decoding(String(describing: error))
        }
    }
}
