internal import Messages
internal import RealtimeFeed
internal import Transit

/// Decides what the feed says and when it says something new.
///
/// The same content keeps the same bytes, so that readers who ask with the last ETag get 304. The
/// header's time never goes back and is never older than an entity (E012).
struct FeedBuilder: Sendable {
    /// Seconds after which an unchanged feed is dated anew, so that readers see that it lives.
    static let longestSilence: Int64 = 15

    /// A feed with what was left out of it.
    struct Build: Sendable, Equatable {
        var message: FeedMessage
        /// Entities that broke a rule, by the rule's id.
        var withheld: [String: Int] = [:]
    }

    private(set) var last: Build?

    /// Builds the feed of this moment.
    ///
    /// - Parameters:
    ///   - estimates: Fresh ones, sorted by trip; those of trips that a driver reports are left
    ///     out (seed 4.8), also when the driver's own entity breaks a rule.
    ///   - drivers: Fresh reports, one for each trip, by vehicle.
    ///   - now: The application clock.
    /// - Returns: The new feed, or nil when the last one stands.
    mutating func tick(
        _ estimates: [TripEstimate],
        drivers: [LiveVehicle] = [],
        at now: UnixSeconds
    ) -> Build? {
        let covered = Dictionary(
            grouping: drivers.filter { !$0.tripID.isEmpty },
            by: \.tripID
        )
        var entities = drivers.map { FeedEntity($0, now: now) }
        for estimate in estimates {
            let isCovered = covered[estimate.trip.tripID]?.contains { driver in
                driver.startDate == nil || driver.startDate == estimate.trip.startDate
            }
            if isCovered != true { entities.append(FeedEntity(estimate, now: now)) }
        }
        var withheld: [String: Int] = [:]
        let header = headerTime(for: entities, at: now)
        let draft = Self.message(entities, header)
        let broken = draft.complianceFindings(now: UInt64(max(0, now))).filter { finding in
            finding.severity == .error && finding.entityIndex != nil
        }
        for finding in broken { withheld[finding.ruleID, default: 0] += 1 }
        let indexes = Set(broken.compactMap(\.entityIndex))
        entities = entities.enumerated().filter { !indexes.contains($0.offset) }.map(\.element)

        if let last, last.message.entities == entities,
            now - Self.time(of: last.message) < Self.longestSilence
        {
            return nil
        }
        let build = Build(message: Self.message(entities, header), withheld: withheld)
        last = build
        return build
    }

    private func headerTime(for entities: [FeedEntity], at now: UnixSeconds) -> UInt64 {
        let newest = entities.compactMap(\.vehicle?.timestamp).max() ?? 0
        let following = last.map { Self.time(of: $0.message) + 1 } ?? 0
        return max(UInt64(max(0, now, following)), newest)
    }

    private static func message(_ entities: [FeedEntity], _ timestamp: UInt64) -> FeedMessage {
        FeedMessage(
            header: FeedHeader(
                gtfsRealtimeVersion: "2.0",
                incrementality: .fullDataset,
                timestamp: timestamp
            ),
            entities: entities
        )
    }

    private static func time(of message: FeedMessage) -> Int64 {
        Int64(clamping: message.header.timestamp ?? 0)
    }
}
