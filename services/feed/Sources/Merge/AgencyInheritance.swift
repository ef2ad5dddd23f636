internal import RealtimeFeed
internal import Transit

/// Agencies' entities of this builder and of the one before it as one list.
enum AgencyInheritance {
    /// Joins both; a vehicle is there once, and of two vehicles on one run the fresher stays.
    ///
    /// - Parameters:
    ///   - own: Of agencies that have answered this builder, as they are published.
    ///   - inherited: Of agencies that have not, as the builder before published them.
    /// - Returns: By feed and then by id.
    static func join(_ own: [SourcedEntity], _ inherited: [SourcedEntity]) -> [SourcedEntity] {
        var entities = own
        if !inherited.isEmpty {
            let names = Set(own.map { VehicleID($0.entity.id) })
            let runs = Dictionary(grouping: own, by: \.tripID)
            var outdone: Set<VehicleID> = []
            for entity in inherited {
                guard let id = entity.entity.vehicle?.vehicle?.id, !names.contains(id) else {
                    continue
                }
                let rivals = entity.tripID.flatMap { runs[$0] }?.filter(entity.sharesDate) ?? []
                if rivals.contains(where: { $0.time >= entity.time }) { continue }
                outdone.formUnion(rivals.map { VehicleID($0.entity.id) })
                entities.append(entity)
            }
            entities.removeAll { outdone.contains(VehicleID($0.entity.id)) }
        }
        return entities.sorted { left, right in
            let (first, second) = (left.feed ?? .max, right.feed ?? .max)
            return first == second
                ? VehicleID(left.entity.id) < VehicleID(right.entity.id) : first < second
        }
    }
}

extension SourcedEntity {
    fileprivate var tripID: TripID? {
        guard let id = entity.vehicle?.trip?.tripID, !id.isEmpty else { return nil }
        return id
    }

    /// Whether a vehicle on the same trip may be on the same run: one without a date is on any.
    fileprivate func sharesDate(with other: SourcedEntity) -> Bool {
        let dates = [self, other].map { $0.entity.vehicle?.trip?.startDate }
        return dates[0] == nil || dates[1] == nil || dates[0] == dates[1]
    }
}
