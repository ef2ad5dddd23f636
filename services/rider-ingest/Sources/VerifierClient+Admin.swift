internal import Bus
internal import Messages
internal import Telemetry
internal import Transit

// What operators ask is answered from the database or counted by each process, so no slot is looked up
// and nobody waits for an owner.
extension VerifierClient {
    /// The longest that an operator waits (architecture, section 1).
    static let adminPatience = Duration.seconds(2)

    /// Asks one verifier after the other until one answers.
    ///
    /// - Returns: The first answer; `unavailable` when there was none in time.
    func askAny(_ body: RideRequest.Body, trace: TraceID) async -> RideReply.Body {
        let deadline = transport.now() + Self.adminPatience
        for instance in transport.living().shuffled() {
            let remaining = deadline - transport.now()
            guard remaining > .zero else { break }
            if let answer = await ask(instance, body, within: remaining, trace) { return answer }
        }
        return .refused(.away)
    }

    /// Asks every verifier at once.
    ///
    /// - Returns: The answers by instance, nil for those that gave none in time.
    func askAll(
        _ body: RideRequest.Body,
        trace: TraceID
    ) async -> [String: RideReply.Body?] {
        await withTaskGroup(of: (String, RideReply.Body?).self) { group in
            for instance in transport.living() {
                group.addTask {
                    let answer = await self.ask(instance, body, within: Self.adminPatience, trace)
                    return (instance, answer)
                }
            }
            var answers: [String: RideReply.Body?] = [:]
            for await (instance, answer) in group { answers.updateValue(answer, forKey: instance) }
            return answers
        }
    }

    /// The answer of one instance; nil when it gave none, or could not.
    private func ask(
        _ instance: String,
        _ body: RideRequest.Body,
        within patience: Duration,
        _ trace: TraceID
    ) async -> RideReply.Body? {
        let request = RideRequest(requestID: .random(), trace: trace, body: body)
        guard let bytes = try? await transport.ask(request.encoded(), instance, patience, trace),
            let reply = try? RideReply(decoding: bytes)
        else { return nil }
        if case .refused(let refusal) = reply.body, refusal.code == .unavailable { return nil }
        return reply.body
    }
}
