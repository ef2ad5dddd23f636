internal import Bus
internal import Messages
internal import Telemetry
internal import Transit

/// Asks any verifier that answers.
struct VerifierQuestions: Sendable {
    /// How long one verifier may take: the end of a ride, and the deletion of a week of points.
    static let timeout = Duration.seconds(3)
    /// How long all of them may take together; a caller waits for it.
    static let patience = Duration.seconds(6)

    /// The verifiers that live.
    let instances: @Sendable () -> [String]
    /// Asks one.
    let ask:
        @Sendable (_ body: [UInt8], _ instance: String, _ timeout: Duration)
            async throws(BusError) -> [UInt8]

    /// Asks over the bus.
    init(_ bus: Bus) {
        self.init(
            instances: { bus.instances(of: ServiceNames.verifier) },
            ask: { body, instance, timeout throws(BusError) in
                try await bus.request(body, to: instance, timeout: timeout, resend: false)
            }
        )
    }

    /// Asks in a way of its own; for tests.
    init(
        instances: @escaping @Sendable () -> [String],
        ask:
            @escaping @Sendable (_ body: [UInt8], _ instance: String, _ timeout: Duration)
            async throws(BusError) -> [UInt8]
    ) {
        self.instances = instances
        self.ask = ask
    }

    /// The first answer that is not "try again"; nil when there is none.
    func answer(to body: RideRequest.Body) async -> RideReply.Body? {
        let request = RideRequest(requestID: .random(), trace: .random(), body: body).encoded()
        let deadline = ContinuousClock.now + Self.patience
        for instance in instances().shuffled() {
            let timeout = min(Self.timeout, deadline - .now)
            guard timeout > .zero else { break }
            guard let bytes = try? await ask(request, instance, timeout),
                let reply = try? RideReply(decoding: bytes)
            else { continue }
            if case .refused(let refusal) = reply.body, refusal.code == .unavailable { continue }
            return reply.body
        }
        return nil
    }
}
