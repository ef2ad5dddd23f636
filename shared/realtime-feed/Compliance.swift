internal import Transit

/// A demand that every published feed must meet.
///
/// The ids are those of the GTFS Realtime validator (RULES.md of MobilityData/gtfs-realtime-validator);
/// `A…` are our own. The feed service runs all rules on each tick, counts by id, and leaves out the
/// entities of errors.
public struct ComplianceRule: Sendable {
    /// How bad a finding is.
    public enum Severity: String, Sendable {
        /// The feed must not go out so.
        case error
        /// Readers can do less with it.
        case warning
    }

    /// Stable, such as `E012`.
    public let id: String
    /// What a finding means, in a few words.
    public let title: String
    /// How bad a finding is.
    public let severity: Severity
    /// Looks at a feed at a time of the application clock, POSIX seconds.
    let check: @Sendable (_ feed: FeedMessage, _ now: UInt64) -> [Int?]

    /// Looks for what breaks the rule.
    ///
    /// - Parameters:
    ///   - feed: The feed as it is to be published.
    ///   - now: The application clock, POSIX seconds.
    /// - Returns: One finding for each entity that breaks the rule, or one for the header.
    public func findings(in feed: FeedMessage, now: UInt64) -> [ComplianceFinding] {
        check(feed, now).map { index in
            ComplianceFinding(
                ruleID: id,
                severity: severity,
                entityIndex: index,
                entityID: index.map { feed.entities[$0].id }
            )
        }
    }
}

/// A place where a feed breaks a rule.
public struct ComplianceFinding: Equatable, Sendable {
    /// The rule's ``ComplianceRule/id``.
    public let ruleID: String
    /// The rule's severity.
    public let severity: ComplianceRule.Severity
    /// Where in ``FeedMessage/entities``; nil for the header.
    public let entityIndex: Int?
    /// The entity's id; nil for the header.
    public let entityID: String?
}

extension FeedMessage {
    /// Checks the feed against every rule.
    ///
    /// - Parameter now: The application clock, POSIX seconds.
    /// - Returns: What breaks a rule, in the order of the rules.
    public func complianceFindings(now: UInt64) -> [ComplianceFinding] {
        ComplianceRule.all.flatMap { $0.findings(in: self, now: now) }
    }
}

extension ComplianceRule {
    /// Seconds that a timestamp may lie ahead of our clock (E050).
    public static let futureToleranceSeconds: UInt64 = 60
    /// A timestamp above it, in the year 2286, can only be in milliseconds (E001).
    static let largestPlausibleTimestamp: UInt64 = 10_000_000_000

    /// Every rule, by id.
    public static let all: [ComplianceRule] = [
        ComplianceRule(id: "E001", title: "a timestamp is not in POSIX seconds", severity: .error) {
            feed,
            _ in
            let late = { (time: UInt64?) in (time ?? 0) > largestPlausibleTimestamp }
            return (late(feed.header.timestamp) ? [nil] : [])
                + feed.indices { late($0.newestTimestamp) }
        },
        ComplianceRule(
            id: "E012",
            title: "an entity is newer than the header",
            severity: .error
        ) { feed, _ in
            feed.indices { ($0.newestTimestamp ?? 0) > (feed.header.timestamp ?? 0) }
        },
        ComplianceRule(id: "E026", title: "a position is not on the earth", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                guard let position = entity.vehicle?.position else { return false }
                return !(-90...90).contains(position.latitude)
                    || !(-180...180).contains(position.longitude)
            }
        },
        ComplianceRule(id: "E027", title: "a bearing is outside 0 to 360", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                guard let bearing = entity.vehicle?.position?.bearing else { return false }
                return !(0...360).contains(bearing)
            }
        },
        ComplianceRule(id: "E038", title: "the version is unknown", severity: .error) { feed, _ in
            ["1.0", "2.0"].contains(feed.header.gtfsRealtimeVersion) ? [] : [nil]
        },
        ComplianceRule(
            id: "E039",
            title: "a whole feed speaks of a deleted entity",
            severity: .error
        ) { feed, _ in
            guard feed.header.incrementality != .differential else { return [] }
            return feed.indices { $0.isDeleted != nil }
        },
        ComplianceRule(id: "E048", title: "the header has no timestamp", severity: .error) {
            feed,
            _ in
            (feed.header.timestamp ?? 0) == 0 ? [nil] : []
        },
        ComplianceRule(id: "E049", title: "the header has no incrementality", severity: .error) {
            feed,
            _ in
            feed.header.incrementality == nil ? [nil] : []
        },
        ComplianceRule(id: "E050", title: "a timestamp is in the future", severity: .error) {
            feed,
            now in
            let (sum, overflow) = now.addingReportingOverflow(futureToleranceSeconds)
            let limit = overflow ? UInt64.max : sum
            return ((feed.header.timestamp ?? 0) > limit ? [nil] : [])
                + feed.indices { ($0.newestTimestamp ?? 0) > limit }
        },
        ComplianceRule(
            id: "E052",
            title: "two entities share an id or a vehicle",
            severity: .error
        ) { feed, _ in
            // Identifiers compare bytes: two texts that Unicode takes for equal are two ids.
            var ids = Set<VehicleID>(minimumCapacity: feed.entities.count)
            var vehicles = Set<VehicleID>(minimumCapacity: feed.entities.count)
            return feed.indices { entity in
                let isNew = ids.insert(VehicleID(entity.id)).inserted
                guard let id = entity.vehicle?.vehicle?.id, !id.isEmpty else { return !isNew }
                return !vehicles.insert(id).inserted || !isNew
            }
        },
        ComplianceRule(id: "W001", title: "an entity has no timestamp", severity: .warning) {
            feed,
            _ in
            feed.indices { entity in
                (entity.vehicle.map { ($0.timestamp ?? 0) == 0 } ?? false)
                    || (entity.tripUpdate.map { ($0.timestamp ?? 0) == 0 } ?? false)
            }
        },
        ComplianceRule(id: "W002", title: "a vehicle has no id", severity: .warning) { feed, _ in
            feed.indices { entity in
                guard let vehicle = entity.vehicle else { return false }
                return vehicle.vehicle?.id?.isEmpty ?? true
            }
        },
        ComplianceRule(id: "A001", title: "a speed is negative or no number", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                guard let speed = entity.vehicle?.position?.speed else { return false }
                return !(speed >= 0 && speed.isFinite)
            }
        },
        ComplianceRule(
            id: "A002",
            title: "a trip descriptor names neither trip nor route",
            severity: .error
        ) { feed, _ in
            feed.indices { entity in
                entity.hasTrip { trip in
                    (trip.tripID?.isEmpty ?? true) && (trip.routeID?.isEmpty ?? true)
                }
            }
        },
        ComplianceRule(id: "A003", title: "a start date is not eight digits", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                entity.hasTrip { trip in
                    guard let date = trip.startDate?.utf8 else { return false }
                    return date.count != 8 || !date.allSatisfy { (0x30...0x39).contains($0) }
                }
            }
        },
    ]
}

extension FeedMessage {
    fileprivate func indices(where breaks: (FeedEntity) -> Bool) -> [Int?] {
        var found: [Int?] = []
        for index in entities.indices where breaks(entities[index]) { found.append(index) }
        return found
    }
}

extension FeedEntity {
    /// The newest timestamp that the entity carries.
    fileprivate var newestTimestamp: UInt64? {
        guard let update = tripUpdate?.timestamp else { return vehicle?.timestamp }
        return max(update, vehicle?.timestamp ?? 0)
    }

    fileprivate func hasTrip(where breaks: (TripDescriptor) -> Bool) -> Bool {
        (vehicle?.trip.map(breaks) ?? false) || (tripUpdate.map { breaks($0.trip) } ?? false)
    }
}
