internal import Transit

/// What is kept of a ride's latest matched points to tell whether it is a witness of its own.
///
/// A fixed number of points in place: adding one allocates nothing. Places are kept as hashes.
public struct WitnessTrace: Sendable, Equatable {
    /// How many of the latest points are kept.
    public static let capacity = 16

    /// What stays true once it was seen, as the ride's row keeps it.
    public struct Traits: OptionSet, Sendable {
        /// The bits.
        public let rawValue: Int16

        /// Wraps the bits.
        public init(rawValue: Int16) { self.rawValue = rawValue }

        /// The ride sped up and slowed down as a vehicle in traffic does.
        public static let movedUnevenly = Traits(rawValue: 1)
        /// The reported accuracy changed.
        public static let accuracyVaried = Traits(rawValue: 2)
    }

    /// What was seen so far.
    public private(set) var traits: Traits
    /// How many points are kept.
    public private(set) var count = 0

    private var next = 0
    private var seconds = SIMD16<Int64>()
    private var along = SIMD16<Double>()
    private var residuals = SIMD16<Float>()
    private var places = SIMD16<UInt32>()
    private var accuracy: Double?

    /// Keeps nothing yet.
    ///
    /// - Parameter traits: What was seen before a restart.
    public init(_ traits: Traits = []) { self.traits = traits }

    /// Takes a judged point; one that did not match is left out.
    public mutating func add(
        _ point: Point,
        _ verdict: Verdict,
        thresholds: Thresholds = Thresholds()
    ) {
        guard verdict.outcome == .matched, let alongShape = verdict.alongShape else { return }
        if next + count > 0, point.accuracy != accuracy { traits.insert(.accuracyVaried) }
        accuracy = point.accuracy
        seconds[next] = point.timestamp
        along[next] = alongShape
        residuals[next] = Float(verdict.distanceToShape ?? 0)
        places[next] = Self.place(point.coordinate)
        next = (next + 1) % Self.capacity
        count = min(count + 1, Self.capacity)
        if count == Self.capacity, !traits.contains(.movedUnevenly), isUneven(thresholds) {
            traits.insert(.movedUnevenly)
        }
    }

    /// A hash of a place to about a metre.
    private static func place(_ coordinate: Coordinate) -> UInt32 {
        var hash = FNV1a()
        hash.add(UInt64(bitPattern: Int64((coordinate.latitude * 100_000).rounded())))
        hash.add(UInt64(bitPattern: Int64((coordinate.longitude * 100_000).rounded())))
        return UInt32(truncatingIfNeeded: hash.value ^ hash.value >> 32)
    }

    /// Where the `index`th oldest kept point lies in the arrays.
    private func slot(_ index: Int) -> Int {
        (next - count + index + Self.capacity) % Self.capacity
    }

    // MARK: - One ride

    /// Whether the kept points leave a line of constant speed, and do so slowly or by much.
    ///
    /// A script that adds noise to a constant speed leaves the line too, but jumps to and fro about it:
    /// then the squared differences of neighbours are about twice the squares (von Neumann's ratio). Points
    /// a minute apart look like that in any traffic, but they are further off than noise that matches.
    ///
    /// For a full trace: it is asked with each point until it says yes.
    private func isUneven(_ thresholds: Thresholds) -> Bool {
        let rest = restFromConstantSpeed()
        let squares = (rest * rest).sum()
        var jumps = 0.0
        var last = rest[Self.capacity - 1]
        for index in 0..<Self.capacity {
            let jump = rest[index] - last
            last = rest[index]
            // Between the newest point and the oldest there is no step.
            if index != next { jumps += jump * jump }
        }
        let distance = (squares / Double(Self.capacity)).squareRoot()
        return distance >= thresholds.witnessMotionSureMeters
            || distance >= thresholds.witnessMotionMeters
                && jumps <= thresholds.witnessMotionJumps * squares
    }

    /// Metres of each place of a full trace from the line of constant speed that fits best.
    private func restFromConstantSpeed() -> SIMD16<Double> {
        let size = Double(Self.capacity)
        var times = SIMD16<Double>(seconds &- seconds[next])
        var rest = along - along[next]
        times -= times.sum() / size
        rest -= rest.sum() / size
        let spread = (times * times).sum()
        let speed = spread > 0 ? (times * rest).sum() / spread : 0
        return rest - speed * times
    }

    // MARK: - Two rides

    /// Whether both rides report at the same seconds although neither reports each second.
    func isInStep(with other: WitnessTrace, _ thresholds: Thresholds) -> Bool {
        guard min(count, other.count) >= thresholds.witnessLockstepPoints else { return false }
        let from = max(seconds[slot(0)], other.seconds[other.slot(0)])
        let to = min(seconds[slot(count - 1)], other.seconds[other.slot(other.count - 1)])
        var (own, theirs, shared) = (0, 0, 0)
        for index in 0..<other.count where (from...max(from, to)).contains(other.seconds[index]) {
            theirs += 1
        }
        for index in 0..<count where (from...max(from, to)).contains(seconds[index]) {
            own += 1
            if (0..<other.count).contains(where: { other.seconds[$0] == seconds[index] }) {
                shared += 1
            }
        }
        // Phones that report each second share every second.
        let isSparse = to - from >= 2 * Int64(max(own, theirs) - 1)
        return isSparse && shared >= thresholds.witnessLockstepPoints
            && 10 * shared >= 9 * max(own, theirs)
    }

    /// Whether both rides lie equally far from the shape, point by point, whoever comes first.
    ///
    /// Points right on the shape say nothing: a phone that knows the map puts all its fixes there.
    func hasResiduals(of other: WitnessTrace, _ thresholds: Thresholds) -> Bool {
        let bound = Float(thresholds.witnessResidualMeters)
        let floor = Float(thresholds.witnessResidualFloorMeters)
        for shift in (1 - other.count)..<max(count, 1 - other.count) {
            var run = 0
            for index in max(0, shift)..<max(max(0, shift), min(count, other.count + shift)) {
                let own = residuals[slot(index)]
                let theirs = other.residuals[other.slot(index - shift)]
                if max(own, theirs) < floor { continue }
                run = abs(own - theirs) <= bound ? run + 1 : 0
                if run >= thresholds.witnessResidualPoints { return true }
            }
        }
        return false
    }

    /// Whether both rides went through the same places to the metre, one after the other or at once.
    ///
    /// Points that stay where the one before was do not count: two phones in a standing bus may well
    /// report one place.
    func isReplay(of other: WitnessTrace, _ thresholds: Thresholds) -> Bool {
        guard min(count, other.count) >= thresholds.witnessReplayPoints else { return false }
        for start in 0..<count {
            for theirs in 0..<other.count where start == 0 || theirs == 0 {
                if moves(sharedWith: other, from: start, theirs) >= thresholds.witnessReplayPoints {
                    return true
                }
            }
        }
        return false
    }

    /// The most places in a row, each another than the one before, that both went through.
    private func moves(sharedWith other: WitnessTrace, from start: Int, _ theirStart: Int) -> Int {
        var longest = 0
        var run = 0
        var last: UInt32?
        for step in 0..<min(count - start, other.count - theirStart) {
            let place = places[slot(start + step)]
            if place != other.places[other.slot(theirStart + step)] {
                run = 0
                last = nil
            } else if place != last {
                run += 1
                last = place
                longest = max(longest, run)
            }
        }
        return longest
    }
}
