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
            let runs = Dictionary(grouping: own, by: \.run)
            let trips = Dictionary(grouping: own, by: \.run?.trip)
            var outdone: Set<VehicleID> = []
            for entity in inherited {
                guard let id = entity.entity.vehicle?.vehicle?.id, !names.contains(id) else {
                    continue
                }
                let rivals: [SourcedEntity]
                switch entity.run {
                case .none: rivals = []
                // One without a date is on any date of its trip.
                case .some(let run) where run.date == nil: rivals = trips[run.trip] ?? []
                case .some(let run):
                    let dateless = AgencyFusion.Run(trip: run.trip, date: nil)
                    rivals = (runs[run] ?? []) + (runs[dateless] ?? [])
                }
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
    /// The trip that the vehicle names, with its date; nil without one.
    fileprivate var run: AgencyFusion.Run? {
        guard let trip = entity.vehicle?.trip, let id = trip.tripID, !id.isEmpty else { return nil }
        return AgencyFusion.Run(trip: id, date: trip.startDate.flatMap(ServiceDate.init))
    }
}
