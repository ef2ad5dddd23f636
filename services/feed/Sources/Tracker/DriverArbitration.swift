internal import Messages
internal import Transit

/// Which driver speaks for a trip when two report it (spec 0).
///
/// The fresher report wins; a driver who is assigned to the vehicle beats one who is not while at
/// most 30 s older. The others stay in the admin's list and out of the feed.
struct DriverArbitration: Sendable {
    /// Seconds that an assigned driver's report may be older than another's.
    static let assignedAdvantage: Int64 = 30

    /// What is published, by vehicle.
    let published: [LiveVehicle]
    /// The vehicles whose trip another one speaks for.
    let suppressed: Set<VehicleID>

    /// Decides.
    ///
    /// - Parameter live: Fresh reports, by vehicle, one of each.
    init(_ live: [LiveVehicle]) {
        var suppressed: Set<VehicleID> = []
        let onTrips = Dictionary(grouping: live.filter { !$0.tripID.isEmpty }, by: \.tripID)
        for rivals in onTrips.values where rivals.count > 1 {
            var winners: [LiveVehicle] = []
            for vehicle in rivals.sorted(by: Self.precedes) {
                let isTaken = winners.contains {
                    Self.meansSameRun($0.startDate, vehicle.startDate)
                }
                if isTaken { suppressed.insert(vehicle.vehicleID) } else { winners.append(vehicle) }
            }
        }
        self.suppressed = suppressed
        published = live.filter { !suppressed.contains($0.vehicleID) }
    }

    /// The published drivers as verifiers and the merge take them: at most one for each run of a
    /// trip, those without a trip left out.
    var trusted: [TrustedVehicle] { published.compactMap(\.trusted) }

    /// A total order: the advantage counts as freshness, and equals are told apart.
    private static func precedes(_ left: LiveVehicle, _ right: LiveVehicle) -> Bool {
        let leftScore = left.reportedAt + (left.isAssigned ? assignedAdvantage : 0)
        let rightScore = right.reportedAt + (right.isAssigned ? assignedAdvantage : 0)
        guard leftScore == rightScore else { return leftScore > rightScore }
        guard left.isAssigned == right.isAssigned else { return left.isAssigned }
        return left.vehicleID < right.vehicleID
    }

    /// A report without a date means whichever run there is.
    private static func meansSameRun(_ left: ServiceDate?, _ right: ServiceDate?) -> Bool {
        left == nil || right == nil || left == right
    }
}
