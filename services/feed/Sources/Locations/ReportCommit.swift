internal import Database
internal import ServiceKit
internal import Transit
internal import Web

/// One transaction of drivers' reports.
///
/// Rows are locked in one order everywhere (drivers, vehicles, points, live rows, each by key), so
/// that replicas wait for each other and never in a circle.
enum ReportCommit {
    /// What a transaction is about to make true.
    struct Outcome: Sendable {
        /// One for each work, in order; a failure is the driver's refusal.
        var answers: [Result<ReportWork.Stored, any Error>]
        /// Live rows that changed.
        var live: [LiveVehicle]
        /// Skewed reports that were admitted.
        var skewed: Int
    }

    /// A point with who reported it when.
    struct Point: Sendable {
        let report: DriverReport
        let driverID: UniqueID
        let receivedAt: UnixSeconds
        let key: Key
        /// How many reports came before it in the transaction.
        let order: Int

        /// What is published and what ages: as reported, but never ahead of the receipt.
        var reportedAt: UnixSeconds { report.reportedAt(receivedAt: receivedAt) }
    }

    /// What a stored point is known by.
    struct Key: Hashable, Comparable, Sendable {
        let vehicleID: VehicleID
        let timestamp: UnixSeconds

        static func < (left: Key, right: Key) -> Bool {
            left.vehicleID == right.vehicleID
                ? left.timestamp < right.timestamp : left.vehicleID < right.vehicleID
        }
    }

    /// Runs the statements, inside the transaction that the caller opened.
    static func run(
        _ works: [ReportWork],
        on connection: Connection
    ) throws(DatabaseError) -> Outcome {
        var refusals: [Int: HTTPError] = [:]
        var charges = try DriverStore.enter(Set(works.map(\.driverID)), on: connection)
        for (index, work) in works.enumerated() {
            // A token that was still on its way when its driver was erased.
            let admission = charges[work.driverID]?.admit(work) ?? .failure(.invalidToken)
            if case .failure(let error) = admission { refusals[index] = error }
        }
        let changed = charges.values.filter(\.isChanged)
        try ReportStore.save(Array(changed), on: connection)

        let admitted = works.enumerated().filter { refusals[$0.offset] == nil }.map(\.element)
        let points = Self.points(of: admitted)
        try ReportStore.makeVehicles(of: points, on: connection)
        let inserted = try ReportStore.insert(points, on: connection)
        let live = try ReportStore.makeLive(
            Self.live(of: points.filter { inserted.contains($0.key) }),
            on: connection
        )
        return Outcome(
            answers: Self.answers(works, refusals, inserted),
            live: live,
            skewed: changed.reduce(0) { $0 + Int($1.skewed) }
        )
    }

    /// The points by key, each key once: the first that came.
    private static func points(of works: [ReportWork]) -> [Point] {
        var points: [Key: Point] = [:]
        var order = 0
        for work in works {
            for report in work.reports {
                order += 1
                let key = Key(vehicleID: report.vehicleID, timestamp: report.timestamp)
                guard points[key] == nil else { continue }
                points[key] = Point(
                    report: report,
                    driverID: work.driverID,
                    receivedAt: work.receivedAt,
                    key: key,
                    order: order
                )
            }
        }
        return points.values.sorted { $0.key < $1.key }
    }

    /// The points that may become live, by vehicle: of each vehicle one, and of each driver one.
    ///
    /// Whoever sent what was kept offline is aboard one vehicle now, and a batch makes no more of them live than a
    /// report does (decision 0095).
    private static func live(of points: [Point]) -> [Point] {
        newest(newest(points, ofEach: \.key.vehicleID), ofEach: \.driverID)
    }

    /// Newest is what was reported last by times that are not ahead of the receipt, and of what a fast clock
    /// dated ahead the last that came.
    private static func newest<ID: Hashable>(
        _ points: [Point],
        ofEach id: (Point) -> ID
    ) -> [Point] {
        var newest: [ID: Point] = [:]
        for point in points {
            if let known = newest[id(point)],
                (known.reportedAt, known.order) > (point.reportedAt, point.order)
            {
                continue
            }
            newest[id(point)] = point
        }
        return points.filter { newest[id($0)]?.key == $0.key }
    }

    /// A point counts as accepted once, for the work that brought it first.
    private static func answers(
        _ works: [ReportWork],
        _ refusals: [Int: HTTPError],
        _ inserted: Set<Key>
    ) -> [Result<ReportWork.Stored, any Error>] {
        var unclaimed = inserted
        return works.enumerated().map { index, work in
            if let refusal = refusals[index] { return .failure(refusal) }
            let accepted = work.reports.count { report in
                unclaimed.remove(Key(vehicleID: report.vehicleID, timestamp: report.timestamp))
                    != nil
            }
            return .success(
                ReportWork.Stored(accepted: accepted, ignored: work.reports.count - accepted)
            )
        }
    }
}
