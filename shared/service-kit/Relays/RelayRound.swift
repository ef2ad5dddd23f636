public import Bus
public import Messages
public import Telemetry

/// Has relays do something before a caller is answered, such as letting go of who signs out.
///
/// Taking away is acknowledged (architecture, section 6): it counts when every relay has confirmed it, or after a
/// second. A relay that stayed silent is counted and finds out by itself.
public struct RelayRound: Sendable {
    /// How long the relays have.
    public static let patience = Duration.seconds(1)

    /// Asks one relay, as ``Bus/request(_:to:timeout:resend:trace:)`` does.
    public typealias Ask =
        @Sendable (
            _ body: [UInt8], _ relay: String, _ timeout: Duration, TraceID
        ) async throws(BusError) -> [UInt8]

    private let confirmed: Counter
    private let silent: Counter
    private let ask: Ask

    /// Makes a round that counts who confirms and who stays silent.
    public init(confirmed: Counter, silent: Counter, ask: @escaping Ask) {
        self.confirmed = confirmed
        self.silent = silent
        self.ask = ask
    }

    /// Makes a round over the bus.
    public init(_ bus: Bus, confirmed: Counter, silent: Counter) {
        self.init(confirmed: confirmed, silent: silent, ask: Self.asking(over: bus))
    }

    /// Asks over the bus.
    public static func asking(over bus: Bus) -> Ask {
        { body, relay, timeout, trace throws(BusError) in
            try await bus.request(body, to: relay, timeout: timeout, trace: trace)
        }
    }

    /// Asks all relays at once.
    ///
    /// - Parameters:
    ///   - request: What they are to do; what it is about must be committed before.
    ///   - relays: Their names.
    ///   - reply: What says that it is done.
    /// - Returns: Whether every one of them confirmed it in time.
    @discardableResult
    public func tell(
        _ request: RelayRequest,
        to relays: some Sequence<String>,
        expecting reply: RelayReply.Body
    ) async -> Bool {
        let body = request.encoded()
        return await withTaskGroup(of: Bool.self) { group in
            for relay in relays {
                group.addTask {
                    let isDone = await answer(of: relay, to: body, request.trace) == reply
                    (isDone ? confirmed : silent).add()
                    return isDone
                }
            }
            var areAllDone = true
            for await isDone in group where !isDone { areAllDone = false }
            return areAllDone
        }
    }

    private func answer(
        of relay: String,
        to body: [UInt8],
        _ trace: TraceID
    ) async -> RelayReply.Body? {
        guard let bytes = try? await ask(body, relay, Self.patience, trace) else { return nil }
        return (try? RelayReply(decoding: bytes))?.body
    }
}
