internal import RealtimeFeed
internal import Transit

/// Puts right what an agency sent, from the schedule where it knows better.
struct AgencyMending: Sendable {
    /// The schedule in use.
    let schedule: ScheduleIndex?

    /// Mends a vehicle's position.
    ///
    /// - Parameters:
    ///   - vehicle: The position.
    ///   - mended: Counts by rule what was put right.
    func mend(_ vehicle: inout VehiclePosition, mended: inout [String: Int]) {
        if var trip = vehicle.trip {
            clean(&trip, &mended)
            if let facts = schedule.flatMap({ trip.facts($0) }) { align(&trip, facts, &mended) }
            let isEmpty = trip.tripID == nil && trip.routeID == nil
            if isEmpty { mended["A002", default: 0] += 1 }
            vehicle.trip = isEmpty ? nil : trip
        }
        mendMovement(&vehicle, &mended)
        mendStop(&vehicle, &mended)
    }

    /// Drops what says nothing in any schedule.
    private func clean(_ trip: inout TripDescriptor, _ mended: inout [String: Int]) {
        if trip.tripID?.isEmpty ?? false { trip.tripID = nil }
        if trip.routeID?.isEmpty ?? false { trip.routeID = nil }
        if let date = trip.startDate, ServiceDate(date) == nil {
            trip.startDate = nil
            mended["E021", default: 0] += 1
        }
        if let time = trip.startTime, TripDescriptor.seconds(ofTime: time) == nil {
            let padded = "0" + time
            trip.startTime = TripDescriptor.seconds(ofTime: padded) == nil ? nil : padded
            mended["E020", default: 0] += 1
        }
    }

    /// Takes the schedule's word for a trip that it has.
    private func align(
        _ trip: inout TripDescriptor,
        _ facts: TripFacts,
        _ mended: inout [String: Int]
    ) {
        if let route = trip.routeID, route != facts.routeID {
            let isKnown = schedule?.route(route) != nil
            trip.routeID = facts.routeID.isEmpty ? nil : facts.routeID
            mended[isKnown ? "E035" : "E004", default: 0] += 1
        }
        let direction = facts.directionID.flatMap(UInt32.init(exactly:))
        if let sent = trip.directionID, sent != direction {
            trip.directionID = direction
            mended["E024", default: 0] += 1
        }
        if facts.frequency == nil, let start = facts.startTime, let sent = trip.startTime,
            TripDescriptor.seconds(ofTime: sent) != start
        {
            trip.startTime = TripDescriptor.time(ofSeconds: start)
            mended["E023", default: 0] += 1
        }
        if trip.scheduleRelationship == .added {
            trip.scheduleRelationship = nil
            mended["E016", default: 0] += 1
        }
        if facts.frequency == .approximate, let sent = trip.scheduleRelationship,
            sent != .unscheduled
        {
            trip.scheduleRelationship = .unscheduled
            mended["E013", default: 0] += 1
        }
    }

    private func mendMovement(_ vehicle: inout VehiclePosition, _ mended: inout [String: Int]) {
        if let bearing = vehicle.position?.bearing, !(0...360).contains(bearing) {
            vehicle.position?.bearing = nil
            mended["E027", default: 0] += 1
        }
        if let speed = vehicle.position?.speed, !(speed >= 0 && speed.isFinite) {
            vehicle.position?.speed = nil
            mended["A001", default: 0] += 1
        }
        if let odometer = vehicle.position?.odometer, !odometer.isFinite {
            vehicle.position?.odometer = nil
        }
    }

    private func mendStop(_ vehicle: inout VehiclePosition, _ mended: inout [String: Int]) {
        guard let schedule, let id = vehicle.stopID else { return }
        let stop = schedule.stop(id)
        guard stop == nil || stop?.locationType != 0 else { return }
        vehicle.stopID = nil
        vehicle.currentStopSequence = nil
        vehicle.currentStatus = nil
        mended[stop == nil ? "E011" : "E015", default: 0] += 1
    }
}
