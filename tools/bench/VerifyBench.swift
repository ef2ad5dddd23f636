import Glibc
import Transit
import Verification

/// Measures what judging a point costs beside the bare projection that it cannot do without.
///
/// Both run on the same shape and points, one after the other; the middle ratio of five pairs counts.
/// The bars are 5 with a hint and 2 without, and no allocation for a point. GEOS's projection of the
/// same points onto the same line stands beside them.
enum VerifyBench {
    private static let vertices = 1_000
    private static let points = 2_000
    private static let rounds = 200
    private static let pairs = 5
    private static let hintBar = 5.0
    private static let coldBar = 2.0

    static func run() -> Int32 {
        guard let course = Course(vertices: vertices, points: points) else { return 1 }
        print(
            "verify: shape of \(vertices) vertices, \(points) points, \(rounds) rounds, \(pairs) pairs"
        )
        let warm = compare("with hint", bar: hintBar, course.verifyWarm, course.projectWarm)
        let cold = compare("without hint", bar: coldBar, course.verifyCold, course.projectCold)
        // Not a bar: how much of the cost above is the choice among the passes of a cold start.
        _ = compare(
            "cold start's own projection alone",
            bar: .infinity,
            course.chooseCold,
            course.projectCold
        )
        compareWithGeos(course)
        let allocations = AllocationCounter.count { _ = course.verifyWarm() + course.verifyCold() }
        let proof = AllocationCounter.count {
            _ = Array(repeating: points, count: points).shuffled()
        }
        switch (allocations, proof) {
        case (let allocations?, let proof?) where proof > 0:
            let each = Double(allocations) / Double(2 * points)
            print("allocations: \(allocations) in \(2 * points) points, \(each) each (bar 0)")
            return warm && cold && allocations == 0 ? 0 : 1
        default:
            print("allocations: not counted, the runtime has no hook")
            return 1
        }
    }

    private static func compare(
        _ name: String,
        bar: Double,
        _ ours: () -> Int,
        _ bare: () -> Int
    ) -> Bool {
        var ratios: [Double] = []
        var nanoseconds: [Double] = []
        _ = ours() + bare()
        for _ in 0..<pairs {
            let verify = measure(ours)
            let project = measure(bare)
            ratios.append(verify / project)
            nanoseconds.append(verify)
        }
        let ratio = ratios.sorted()[pairs / 2]
        let each = nanoseconds.sorted()[pairs / 2]
        let bound = bar.isFinite ? "(bar \(bar))" : ""
        let text = (ratio * 100).rounded() / 100
        print(
            "\(name): \(Int(each)) ns of CPU per point, \(text) × the bare projection \(bound)"
        )
        return ratio <= bar
    }

    /// Prints what GEOSProject costs and how much of it a whole verdict without a hint costs.
    private static func compareWithGeos(_ course: Course) {
        guard let peer = course.geosPeer() else {
            print("GEOSProject: no peer, run scripts/bootstrap --tests")
            return
        }
        var ratios: [Double] = []
        var nanoseconds: [Double] = []
        _ = course.projectByGeos(peer)
        for _ in 0..<pairs {
            let geos = measure(rounds: 2) { course.projectByGeos(peer) }
            ratios.append(geos / measure(course.verifyCold))
            nanoseconds.append(geos)
        }
        let ratio = Int(ratios.sorted()[pairs / 2].rounded())
        let each = Int(nanoseconds.sorted()[pairs / 2])
        print("GEOSProject: \(each) ns of CPU per point, \(ratio) × the whole verdict without hint")
    }

    /// Nanoseconds of this thread's CPU for one point.
    private static func measure(rounds: Int = rounds, _ body: () -> Int) -> Double {
        let start = cpuNanoseconds()
        var sum = 0
        for _ in 0..<rounds { sum &+= body() }
        let spent = cpuNanoseconds() - start
        precondition(sum >= 0, "keeps the work alive")
        return Double(spent) / Double(rounds * points)
    }

    private static func cpuNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// A winding shape, a trip on it and points near it.
private struct Course {
    let journey: Journey
    let points: [Point]
    let previous: [MatchedPoint]
    let trusted: [TrustedPosition]
    let thresholds = Thresholds()

    init?(vertices: Int, points count: Int) {
        let vertices = (0..<vertices).map { index in
            let step = Double(index)
            return Coordinate(
                latitude: 47.6 + 0.0002 * step,
                longitude: -122.33 + 0.002 * sin(step / 15)
            )
        }
        guard let shape = ShapeGeometry(points: vertices) else { return nil }
        let stops = (0...40).map { index in
            let along = shape.length * Double(index) / 40
            return StopTime(
                stopID: StopID("S\(index)"),
                stopSequence: index,
                alongShape: along,
                arrival: 28_800 + Int(along / 10),
                departure: 28_800 + Int(along / 10),
                coordinate: shape.point(at: along)
            )
        }
        let trip = Trip(
            id: "T",
            routeID: "R",
            serviceID: "S",
            shape: shape,
            stopTimes: stops
        )
        journey = Journey(
            trip: trip,
            startDate: ServiceDate(daysSince1970: 20_000),
            startOfService: 0
        )
        let places = (0..<count).map { shape.length * (Double($0) + 0.5) / Double(count) }
        points = places.enumerated().map { index, along in
            let place = shape.point(at: along)
            let noise = 0.0001 * sin(Double(index))
            return Point(
                Coordinate(latitude: place.latitude, longitude: place.longitude + noise),
                accuracy: 8,
                speed: 10,
                timestamp: 28_800 + Int64(along / 10)
            )
        }
        previous = zip(points, places).map { point, along in
            MatchedPoint(alongShape: max(0, along - 50), timestamp: point.timestamp - 5)
        }
        trusted = zip(points, places).map { point, along in
            TrustedPosition(alongShape: along + 20, timestamp: point.timestamp - 10)
        }
    }

    func verifyWarm() -> Int { verify(warm: true) }
    func verifyCold() -> Int { verify(warm: false) }

    private func verify(warm: Bool) -> Int {
        var matched = 0
        for index in points.indices {
            let previous = warm ? previous[index] : nil
            let verdict = Verification.verify(
                points[index],
                on: journey,
                previous: previous,
                lastAcceptedAt: previous?.timestamp,
                trusted: trusted[index],
                now: points[index].timestamp,
                thresholds: thresholds
            )
            if verdict.corroboration == .corroborated { matched += 1 }
        }
        return matched
    }

    func projectWarm() -> Int {
        var sum = 0.0
        for index in points.indices {
            let hint = previous[index].alongShape
            sum += journey.trip.shape.project(points[index].coordinate, hint: hint).alongShape
        }
        return Int(sum)
    }

    func chooseCold() -> Int {
        var sum = 0.0
        for point in points {
            sum +=
                journey.trip.shape.project(
                    point.coordinate,
                    preferring: { abs(journey.deviation(at: $0, timestamp: point.timestamp)) }
                ).alongShape
        }
        return Int(sum)
    }

    func projectCold() -> Int {
        var sum = 0.0
        for index in points.indices {
            sum += journey.trip.shape.project(points[index].coordinate).alongShape
        }
        return Int(sum)
    }

    // MARK: - The peer

    /// The shape in metres of a plane, longitudes scaled as our own plane scales them.
    func geosPeer() -> GeosPeer? { GeosPeer(journey.trip.shape.points.map(planar)) }

    func projectByGeos(_ peer: GeosPeer) -> Int {
        var sum = 0.0
        for point in points {
            let place = planar(point.coordinate)
            sum += peer.project(x: place.x, y: place.y)
        }
        return Int(sum)
    }

    private func planar(_ point: Coordinate) -> (x: Double, y: Double) {
        let metersPerDegree = 111_320.0
        return (
            x: point.longitude * metersPerDegree * cos(47.7 * .pi / 180),
            y: point.latitude * metersPerDegree
        )
    }
}
