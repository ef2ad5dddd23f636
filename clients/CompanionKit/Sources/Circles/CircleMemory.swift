public import Foundation

/// Why a crossing was not announced.
public enum SuppressionReason: String, Sendable, Codable {
    /// The circle knows already that the person is there.
    case duplicate
    /// The circle never heard that the person came.
    case noArrivalToDepartFrom
    /// The server refused it for good.
    case refused
    /// Too many others waited to be sent.
    case overflow
}

/// A crossing that was not announced, kept so that a missed one can be looked into.
public struct Suppression: Sendable, Equatable, Codable {
    /// The circle.
    public var circleID: GroupID
    /// The place.
    public var placeID: PlaceID
    /// What happened.
    public var kind: CrossingKind
    /// When.
    public var occurredAt: Date
    /// Why the circle was not told.
    public var reason: SuppressionReason
}

/// What a phone remembers of one person's comings and goings, also after a restart.
///
/// `inside` holds what the circles were told; `pending` what they are still to be told, in order.
/// A crossing is judged by both together, so a failed announcement is neither lost nor doubled.
struct CircleMemory: Sendable, Equatable {
    /// Crossings that wait; the oldest go first.
    static let pendingLimit = 64
    /// Suppressions that are kept, the newest.
    static let suppressionLimit = 50

    /// A crossing on its way, under an id of its own: however often it is sent, it counts once.
    struct Pending: Sendable, Equatable, Codable {
        var id: EventID
        var circleID: GroupID
        var placeID: PlaceID
        var kind: CrossingKind
        var occurredAt: Date

        var key: String { CircleMemory.key(placeID, in: circleID) }
    }

    /// Keys of the form `circle:place`.
    var inside: Set<String> = []
    var pending: [Pending] = []
    /// Newest first.
    var suppressions: [Suppression] = []

    static func key(_ place: PlaceID, in circle: GroupID) -> String { "\(circle):\(place)" }

    /// What the circles will have been told once everything that waits is sent.
    var announced: Set<String> {
        pending.reduce(into: inside) { keys, event in
            if event.kind == .arrive { keys.insert(event.key) } else { keys.remove(event.key) }
        }
    }

    /// Why a crossing is no news, nil for one that is.
    func reasonToSuppress(_ kind: CrossingKind, _ key: String) -> SuppressionReason? {
        switch (kind, announced.contains(key)) {
        case (.arrive, true): .duplicate
        case (.depart, false): .noArrivalToDepartFrom
        default: nil
        }
    }

    mutating func suppress(_ event: Pending, because reason: SuppressionReason) {
        suppressions.insert(
            Suppression(
                circleID: event.circleID,
                placeID: event.placeID,
                kind: event.kind,
                occurredAt: event.occurredAt,
                reason: reason
            ),
            at: 0
        )
        suppressions = Array(suppressions.prefix(Self.suppressionLimit))
    }

    mutating func enqueue(_ event: Pending) {
        pending.append(event)
        while pending.count > Self.pendingLimit {
            suppress(pending.removeFirst(), because: .overflow)
        }
    }

    /// Takes note of what became of a crossing that was sent.
    mutating func settle(_ event: Pending, wasAnnounced: Bool) {
        pending.removeAll { $0.id == event.id }
        if event.kind == .depart {
            inside.remove(event.key)
        } else if wasAnnounced {
            inside.insert(event.key)
        }
    }

    // MARK: - Reconciling

    /// What the memory makes of where the phone really is.
    struct Reconciliation: Equatable {
        /// Places that were left while nobody watched.
        var missedDepartures: [PlaceID] = []
        /// Keys of places that no longer exist.
        var staleKeys: Set<String> = []
    }

    /// Compares what a circle was told with where the phone is (spec 4.3).
    ///
    /// - Parameters:
    ///   - keys: What circles were told; keys of other circles and unreadable ones are left alone.
    ///   - circle: The circle.
    ///   - position: Where the phone is, trusted.
    ///   - places: Every place of the circle, as just fetched.
    /// - Returns: What was missed, and what is out of date.
    static func reconcile(
        _ keys: Set<String>,
        of circle: GroupID,
        at position: Coordinate,
        places: [CirclePlace]
    ) -> Reconciliation {
        let known = Dictionary(places.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var outcome = Reconciliation()
        for key in keys.sorted() {
            let parts = key.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0] == circle.description,
                let id = PlaceID(String(parts[1]))
            else { continue }
            guard let place = known[id], let fence = GeofencePlace(place) else {
                outcome.staleKeys.insert(key)
                continue
            }
            if position.distanceMeters(to: fence.coordinate) > fence.exitMeters {
                outcome.missedDepartures.append(id)
            }
        }
        return outcome
    }
}

extension CircleMemory: Codable {
    private enum CodingKeys: String, CodingKey {
        case inside
        case pending
        case suppressions
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        inside = try container.decodeIfPresent(Set<String>.self, forKey: .inside) ?? []
        pending =
            try container.decodeIfPresent(TolerantList<Pending>.self, forKey: .pending)?
            .elements ?? []
        let suppressions = try container.decodeIfPresent(
            TolerantList<Suppression>.self,
            forKey: .suppressions
        )
        self.suppressions = Array((suppressions?.elements ?? []).prefix(Self.suppressionLimit))
    }
}
