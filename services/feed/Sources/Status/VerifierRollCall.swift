internal import Messages
internal import Telemetry
internal import Transit

/// Asks every verifier how it does, for the admin's status.
struct VerifierRollCall: Sendable {
    /// The longest that an admin waits (architecture, section 1).
    static let patience = Duration.seconds(2)

    /// What a verifier says; nil when it gave no answer in time.
    struct Answer: Sendable, Equatable {
        let instance: String
        let status: VerifierStatusReply?
    }

    /// The verifiers that live.
    let living: @Sendable () -> [String]
    /// Asks one instance; nil when there is no answer within the time.
    let ask:
        @Sendable (
            _ body: [UInt8], _ instance: String, _ timeout: Duration, _ trace: TraceID
        ) async -> [UInt8]?

    /// Nobody to ask.
    static let absent = VerifierRollCall(living: { [] }, ask: { _, _, _, _ in nil })

    /// Asks all at once.
    ///
    /// - Returns: The answers by instance.
    func call(at now: UnixSeconds, trace: TraceID) async -> [Answer] {
        let query = VerifierStatusQuery(receivedAt: now)
        return await withTaskGroup(of: Answer.self) { group in
            for instance in living() {
                group.addTask {
                    let request = RideRequest(
                        requestID: .random(),
                        trace: trace,
                        body: .status(query)
                    )
                    let bytes = await ask(request.encoded(), instance, Self.patience, trace)
                    guard let bytes, let reply = try? RideReply(decoding: bytes),
                        case .status(let status) = reply.body
                    else { return Answer(instance: instance, status: nil) }
                    return Answer(instance: instance, status: status)
                }
            }
            var answers: [Answer] = []
            for await answer in group { answers.append(answer) }
            return answers.sorted { $0.instance < $1.instance }
        }
    }
}
