internal import RealtimeFeed
internal import Transit

/// Adds what the schedule knows of a trip and its sender left out.
///
/// What was sent is never changed here; ``TripMending`` does that, for agencies alone.
struct TripCompletion: Sendable {
    /// The schedule in use; without one nothing is added.
    let schedule: ScheduleIndex?

    /// Fills the absent fields of a descriptor.
    ///
    /// A trip that the schedule does not have is an extra one, which is how a driver's trip outside the
    /// schedule stays valid (E003).
    ///
    /// - Parameters:
    ///   - trip: The descriptor.
    ///   - mended: Told the rules that would have been broken.
    func complete(_ trip: inout TripDescriptor, mended: inout [String: Int]) {
        guard let schedule, let id = trip.tripID, !id.isEmpty else { return }
        guard let facts = schedule.facts(of: id) else {
            if trip.scheduleRelationship == nil {
                trip.scheduleRelationship = .added
                mended["E003", default: 0] += 1
            }
            return
        }
        if trip.routeID == nil, !facts.routeID.isEmpty { trip.routeID = facts.routeID }
        if trip.directionID == nil {
            trip.directionID = facts.directionID.flatMap(UInt32.init(exactly:))
        }
        if trip.startTime == nil, facts.frequency == nil, let start = facts.startTime {
            trip.startTime = TripDescriptor.time(ofSeconds: start)
        }
        if trip.scheduleRelationship == nil {
            trip.scheduleRelationship =
                facts.frequency == .approximate ? .unscheduled : .scheduled
        }
    }
}
