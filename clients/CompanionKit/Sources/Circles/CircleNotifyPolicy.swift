public import Foundation

/// Decides which arrivals are worth a notification, and what it says (spec 4.4).
public enum CircleNotifyPolicy {
    /// What is older than this is no news; exactly this old still is.
    public static let staleAfter = Duration.seconds(3 * 3600)
    /// Notifications of one catch-up; the rest is a number.
    public static let limit = 5

    /// What a catch-up shows.
    public struct Plan: Sendable, Equatable {
        /// In the order of delivery: the newest last, so that it lies on top.
        public var events: [CircleEvent]
        /// How many more there were.
        public var furtherCount: Int
    }

    /// Chooses what to show of what happened meanwhile.
    ///
    /// - Parameters:
    ///   - events: Of all circles, in any order.
    ///   - account: Whose own events are none of their news.
    ///   - now: The wall clock.
    /// - Returns: What to show.
    public static func planCatchUp(
        _ events: [CircleEvent],
        for account: AccountID,
        now: Date
    ) -> Plan {
        let news = events.filter {
            $0.riderID != account
                && now.timeIntervalSince($0.occurredAt) <= staleAfter.seconds
        }.sorted { ($0.occurredAt, $0.sequence) > ($1.occurredAt, $1.sequence) }
        return Plan(
            events: news.prefix(limit).reversed(),
            furtherCount: max(0, news.count - limit)
        )
    }

    /// The circles whose news are delivered: those joined and not muted.
    public static func circlesToDeliver(
        _ circles: [CompanionGroup],
        muted: Set<GroupID>
    ) -> [CompanionGroup] {
        circles.filter { $0.kind == .circle && $0.status == .accepted && !muted.contains($0.id) }
    }

    /// What a notification says.
    ///
    /// - Parameters:
    ///   - name: Who moved.
    ///   - kind: What happened.
    ///   - place: Where; blank leaves it out.
    /// - Returns: A sentence.
    public static func text(_ name: String, _ kind: CrossingKind, place: String) -> String {
        let place = place.trimmingCharacters(in: .whitespacesAndNewlines)
        return switch kind {
        case .arrive: place.isEmpty ? "\(name) arrived" : "\(name) arrived at \(place)"
        case .depart: place.isEmpty ? "\(name) left" : "\(name) left \(place)"
        }
    }

    /// What stands for the events that are not shown one by one.
    public static func summary(_ count: Int) -> String {
        count == 1 ? "+1 more update" : "+\(count) more updates"
    }
}
