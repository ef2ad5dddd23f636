internal import Transit

extension ComplianceRule {
    /// Rules about the times at stops, and about stops.
    static let stopTimeRules: [ComplianceRule] = [
        updates("E002", "the stops of an update are not in order") { stops in
            let sequences = stops.compactMap(\.stopSequence)
            return zip(sequences, sequences.dropFirst()).contains { $0 > $1 }
        },
        ComplianceRule(
            id: "E009",
            title: "a stop that comes twice is named without its sequence",
            severity: .error
        ) { feed, context in
            feed.indices { entity in
                guard let update = entity.tripUpdate, let id = update.trip.tripID,
                    let trip = context.schedule?.trip(id),
                    update.stopTimeUpdates.contains(where: { $0.stopSequence == nil })
                else { return false }
                var seen: Set<StopID> = []
                return trip.stopTimes.contains { !seen.insert($0.stopID).inserted }
            }
        },
        stop("E011", "a stop is not in the schedule") { stop in stop == nil },
        stop("E015", "a stop is not one where vehicles stop") { stop in
            stop.map { $0.locationType != 0 } ?? false
        },
        updates("E022", "the times of an update do not rise from stop to stop") { stops in
            var last: Int64?
            for stop in stops {
                let times = [stop.arrival?.time, stop.departure?.time].compactMap { $0 }
                if let last, times.contains(where: { $0 <= last }) { return true }
                last = times.max() ?? last
            }
            return false
        },
        updates("E025", "a vehicle leaves before it arrives") { stops in
            stops.contains { stop in
                guard let arrival = stop.arrival?.time, let departure = stop.departure?.time
                else { return false }
                return departure < arrival
            }
        },
        updates("E036", "two stops in a row have one sequence") { stops in
            zip(stops, stops.dropFirst()).contains { one, two in
                one.stopSequence != nil && one.stopSequence == two.stopSequence
            }
        },
        updates("E037", "two stops in a row are the same stop") { stops in
            zip(stops, stops.dropFirst()).contains { one, two in
                one.stopID != nil && one.stopID == two.stopID
            }
        },
        updates("E040", "a time is for no stop") { stops in
            stops.contains { $0.stopSequence == nil && $0.stopID == nil }
        },
        ComplianceRule(id: "E041", title: "an update has no stop", severity: .error) { feed, _ in
            feed.indices { entity in
                guard let update = entity.tripUpdate else { return false }
                let relation = update.trip.scheduleRelationship
                return update.stopTimeUpdates.isEmpty && relation != .canceled
                    && relation != .deleted
            }
        },
        updates("E042", "a stop without data has a time") { stops in
            stops.contains { stop in
                stop.scheduleRelationship == .noData
                    && (stop.arrival != nil || stop.departure != nil)
            }
        },
        updates("E043", "a stop has neither arrival nor departure") { stops in
            stops.contains { stop in
                (stop.scheduleRelationship ?? .scheduled) == .scheduled && stop.arrival == nil
                    && stop.departure == nil
            }
        },
        updates("E044", "an arrival or departure says no time") { stops in
            stops.contains { stop in
                [stop.arrival, stop.departure].contains { event in
                    event.map { $0.time == nil && $0.delay == nil } ?? false
                }
            }
        },
        call("E045", "a sequence belongs to another stop") { stop, trip in
            guard let sequence = stop.stopSequence, let id = stop.stopID,
                let scheduled = trip.stop(withSequence: Int(sequence))
            else { return false }
            return scheduled != id
        },
        call("E051", "a sequence is not in the schedule") { stop, trip in
            stop.stopSequence.map { trip.stop(withSequence: Int($0)) == nil } ?? false
        },
        ComplianceRule(
            id: "E047",
            title: "an update pairs trip and vehicle otherwise than the positions",
            severity: .error
        ) { feed, context in
            guard let positions = context.positions else { return [] }
            let pairs = VehiclePairs(positions)
            return feed.indices { entity in
                guard let update = entity.tripUpdate, let vehicle = update.vehicle?.id,
                    let trip = update.trip.tripID
                else { return false }
                return pairs.contradict(trip, vehicle)
            }
        },
    ]

    private static func updates(
        _ id: String,
        _ title: String,
        breaks: @escaping @Sendable ([StopTimeUpdate]) -> Bool
    ) -> ComplianceRule {
        ComplianceRule(id: id, title: title, severity: .error) { feed, _ in
            feed.indices { entity in entity.tripUpdate.map { breaks($0.stopTimeUpdates) } ?? false }
        }
    }

    private static func stop(
        _ id: String,
        _ title: String,
        breaks: @escaping @Sendable (Stop?) -> Bool
    ) -> ComplianceRule {
        ComplianceRule(id: id, title: title, severity: .error) { feed, context in
            guard let schedule = context.schedule else { return [] }
            return feed.indices { entity in
                let stops =
                    [entity.vehicle?.stopID]
                    + (entity.tripUpdate?.stopTimeUpdates ?? []).map(\.stopID)
                return stops.contains { id in id.map { breaks(schedule.stop($0)) } ?? false }
            }
        }
    }

    private static func call(
        _ id: String,
        _ title: String,
        breaks: @escaping @Sendable (StopTimeUpdate, Trip) -> Bool
    ) -> ComplianceRule {
        ComplianceRule(id: id, title: title, severity: .error) { feed, context in
            feed.indices { entity in
                guard let update = entity.tripUpdate, let id = update.trip.tripID,
                    let trip = context.schedule?.trip(id)
                else { return false }
                return update.stopTimeUpdates.contains { breaks($0, trip) }
            }
        }
    }
}

/// Which vehicle serves which trip according to the positions.
private struct VehiclePairs {
    private var vehicles: [TripID: Set<VehicleID>] = [:]
    private var trips: [VehicleID: Set<TripID>] = [:]

    init(_ positions: FeedMessage) {
        for entity in positions.entities {
            guard let trip = entity.vehicle?.trip?.tripID, let id = entity.vehicle?.vehicle?.id
            else { continue }
            vehicles[trip, default: []].insert(id)
            trips[id, default: []].insert(trip)
        }
    }

    /// Whether the positions know the trip or the vehicle, but not as a pair.
    func contradict(_ trip: TripID, _ vehicle: VehicleID) -> Bool {
        if let known = vehicles[trip], !known.contains(vehicle) { return true }
        if let known = trips[vehicle], !known.contains(trip) { return true }
        return false
    }
}

extension Trip {
    /// The stop with a `stop_sequence`; nil when the trip has none such.
    fileprivate func stop(withSequence sequence: Int) -> StopID? {
        var low = 0
        var high = stopTimes.count
        while low < high {
            let middle = (low + high) / 2
            if stopTimes[middle].stopSequence < sequence { low = middle + 1 } else { high = middle }
        }
        guard low < stopTimes.count, stopTimes[low].stopSequence == sequence else { return nil }
        return stopTimes[low].stopID
    }
}
