internal import Bus
internal import Messages
internal import Synchronization
internal import Transit

/// Asks any groups; they take turns, and a second one is asked when the first is away.
final class GroupsClient: Sendable {
    private let bus: Bus
    private let limit: Duration
    private let turn = Atomic<Int>(0)

    init(_ bus: Bus, limit: Duration) {
        self.bus = bus
        self.limit = limit
    }

    /// Asks.
    ///
    /// - Returns: The answer; nil when none came within the limit, or groups could not say.
    func ask(_ body: GroupsRequest.Body) async -> GroupsReply.Body? {
        let request = GroupsRequest(body: body)
        let bytes = request.encoded()
        let end = ContinuousClock.now + limit
        let instances = bus.instances(of: ServiceNames.groups)
        guard !instances.isEmpty else { return nil }
        let start = turn.wrappingAdd(1, ordering: .relaxed).newValue
        for offset in 0..<min(2, instances.count) {
            let instance = instances[(start &+ offset) % instances.count]
            let rest = end - .now
            guard rest > .zero else { return nil }
            do throws(BusError) {
                let answer = try await bus.request(
                    bytes,
                    to: instance,
                    timeout: rest,
                    resend: false,
                    trace: request.trace
                )
                guard let reply = try? GroupsReply(decoding: answer),
                    reply.requestID == request.requestID
                else { return nil }
                if case .refused = reply.body { return nil }
                return reply.body
            } catch {
                continue
            }
        }
        return nil
    }
}
