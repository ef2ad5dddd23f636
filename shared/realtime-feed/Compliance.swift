public import Transit

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
    let check: @Sendable (_ feed: FeedMessage, _ context: ComplianceContext) -> [Int?]

    /// Looks for what breaks the rule.
    ///
    /// - Parameters:
    ///   - feed: The feed as it is to be published.
    ///   - context: What it is held against.
    /// - Returns: One finding for each entity that breaks the rule, or one for the header.
    public func findings(
        in feed: FeedMessage,
        _ context: ComplianceContext
    ) -> [ComplianceFinding] {
        check(feed, context).map { index in
            ComplianceFinding(
                ruleID: id,
                severity: severity,
                entityIndex: index,
                entityID: index.map { feed.entities[$0].id }
            )
        }
    }
}

/// What a feed is held against.
public struct ComplianceContext: Sendable {
    /// The application clock, POSIX seconds.
    public var now: UInt64
    /// The schedule that the feed speaks of; without one its rules find nothing.
    public var schedule: ScheduleIndex?
    /// For trip updates the positions published beside them; nil where there are none.
    public var positions: FeedMessage?

    /// Makes a context.
    public init(now: UInt64, schedule: ScheduleIndex? = nil, positions: FeedMessage? = nil) {
        self.now = now
        self.schedule = schedule
        self.positions = positions
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
    /// - Parameters:
    ///   - now: The application clock, POSIX seconds.
    ///   - schedule: The schedule that the feed speaks of.
    ///   - positions: For trip updates, the positions published beside them.
    /// - Returns: What breaks a rule, in the order of the rules.
    public func complianceFindings(
        now: UInt64,
        schedule: ScheduleIndex? = nil,
        positions: FeedMessage? = nil
    ) -> [ComplianceFinding] {
        let context = ComplianceContext(now: now, schedule: schedule, positions: positions)
        return ComplianceRule.all.flatMap { $0.findings(in: self, context) }
    }
}

extension ComplianceRule {
    /// Seconds that a timestamp may lie ahead of our clock (E050).
    public static let futureToleranceSeconds: UInt64 = 60
    /// A timestamp above it, in the year 2286, can only be in milliseconds (E001).
    static let largestPlausibleTimestamp: UInt64 = 10_000_000_000

    /// Every rule that one feed alone can break; what needs two feeds in a row (E017, E018) is the
    /// builder's to keep.
    public static let all: [ComplianceRule] =
        feedRules + tripRules + positionRules + stopTimeRules

    /// Rules about times, ids and the header.
    static let feedRules: [ComplianceRule] = [
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
            context in
            let (sum, overflow) = context.now.addingReportingOverflow(futureToleranceSeconds)
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
    ]
}

extension FeedMessage {
    func indices(where breaks: (FeedEntity) -> Bool) -> [Int?] {
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

    func hasTrip(where breaks: (TripDescriptor) -> Bool) -> Bool {
        (vehicle?.trip.map(breaks) ?? false) || (tripUpdate.map { breaks($0.trip) } ?? false)
    }
}
