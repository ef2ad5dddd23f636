import Bus
import Messages
import Synchronization
import Telemetry
import Testing

@testable import GroupsService

/// Relays that confirm what they are asked, and remember everything they hear.
final class FakeRelays: Sendable {
    private struct State {
        var names = ["relay-1"]
        var asked: [[Withdrawal]] = []
        var changes: [GroupChange] = []
        var fixes: [LiveFix] = []
        var events: [PlaceEventNotice] = []
        var onAsk: @Sendable (String, [Withdrawal]) async throws(BusError) -> Void = { _, _ in }
    }

    private let state = Mutex(State())

    var asked: [[Withdrawal]] { state.withLock { $0.asked } }
    var withdrawals: [Withdrawal] { asked.flatMap { $0 } }
    var changes: [GroupChange] { state.withLock { $0.changes } }
    var fixes: [LiveFix] { state.withLock { $0.fixes } }
    var events: [PlaceEventNotice] { state.withLock { $0.events } }

    func setNames(_ names: [String]) { state.withLock { $0.names = names } }

    /// Runs `body` before a relay answers; throwing is its answer.
    func onAsk(
        _ body: @escaping @Sendable (String, [Withdrawal]) async throws(BusError) -> Void
    ) {
        state.withLock { $0.onAsk = body }
    }

    /// Forgets what was heard.
    func clear() {
        state.withLock {
            $0.asked = []
            $0.changes = []
            $0.fixes = []
            $0.events = []
        }
    }

    var transport: LiveNews.Transport {
        LiveNews.Transport(
            publish: { topic, _, body, _ in self.heard(topic, body) },
            relays: { self.state.withLock { $0.names } },
            ask: { body, instance, _, _ throws(BusError) in
                guard let request = try? RelayRequest(decoding: body),
                    case .takeAway(let withdrawals) = request.body
                else { throw .configuration("not a request to take away") }
                let onAsk = self.state.withLock { $0.onAsk }
                try await onAsk(instance, withdrawals)
                self.state.withLock { $0.asked.append(withdrawals) }
                return RelayReply(to: request, .takenAway).encoded()
            }
        )
    }

    private func heard(_ topic: String, _ body: [UInt8]) {
        state.withLock { state in
            switch topic {
            case BusTopics.groupChanges:
                if let change = try? GroupChange(decoding: body) { state.changes.append(change) }
            case BusTopics.liveFixes:
                if let fix = try? LiveFix(decoding: body) { state.fixes.append(fix) }
            case BusTopics.placeEvents:
                if let event = try? PlaceEventNotice(decoding: body) {
                    state.events.append(event)
                }
            default: Issue.record("an unknown topic \(topic)")
            }
        }
    }
}
