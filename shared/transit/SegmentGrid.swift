/// Which segments of a shape pass through which square of its plane.
///
/// A place within one cell's width of a segment has that segment in one of the nine cells around
/// it, so a look at nine cells decides as long as every distance that matters is below the width.
struct SegmentGrid: Sendable {
    /// Metres; larger than the 30 m that always matter, small enough to hold few segments.
    private static let cellMeters = 50.0

    private let width: Double
    /// Row and column of a cell in one sortable number, with the segment that passes through.
    private let keys: [UInt64]
    private let segments: [Int32]

    init(plane: ShapePlane) {
        // The width grows with segments of hundreds of kilometres, so that a few absurd points
        // cannot fill the memory with cells.
        var reach = 0.0
        for index in 0..<plane.segmentCount {
            reach += abs(plane.x[index + 1] - plane.x[index])
            reach += abs(plane.y[index + 1] - plane.y[index])
        }
        width = max(Self.cellMeters, reach / Double(4 * plane.segmentCount + 4096))
        var entries: [(key: UInt64, segment: Int32)] = []
        entries.reserveCapacity(plane.segmentCount * 2)
        for index in 0..<plane.segmentCount {
            Self.forEachCell(of: index, in: plane, width: width) { key in
                entries.append((key, Int32(truncatingIfNeeded: index)))
            }
        }
        entries.sort { ($0.key, $0.segment) < ($1.key, $1.segment) }
        keys = entries.map(\.key)
        segments = entries.map(\.segment)
    }

    /// The nearest hit when it surely lies in the nine cells around the place.
    func nearest(to place: PlanePoint, in plane: ShapePlane) -> SegmentHit? {
        var best: SegmentHit?
        forEachSegment(around: place) { segment in
            let hit = plane.hit(segment, place)
            guard let known = best else {
                best = hit
                return
            }
            if hit.squaredDistance < known.squaredDistance
                || hit.squaredDistance == known.squaredDistance && segment < known.segment
            {
                best = hit
            }
        }
        guard let best, best.squaredDistance <= decidableSquare else { return nil }
        return best
    }

    /// The cheapest candidate when all candidates surely lie in the nine cells around the place.
    func choose(
        _ place: PlanePoint,
        in plane: ShapePlane,
        _ cost: (Double) -> Double
    ) -> SegmentHit? {
        guard let best = nearest(to: place, in: plane) else { return nil }
        let limit = ShapePlane.admissibleSquare(best: best.squaredDistance)
        guard limit <= decidableSquare else { return nil }
        var chosen = best
        var lowest = Double.infinity
        forEachSegment(around: place) { segment in
            let hit = plane.hit(segment, place)
            guard hit.squaredDistance <= limit, plane.isLocalMinimum(hit, place) else { return }
            let price = cost(hit.along)
            if price < lowest || price == lowest && segment < chosen.segment {
                lowest = price
                chosen = hit
            }
        }
        return chosen
    }

    /// A millimetre short of the width leaves room for rounding.
    private var decidableSquare: Double { (width - 0.001) * (width - 0.001) }

    // MARK: - Cells

    private static func cell(_ coordinate: Double, _ width: Double) -> Int {
        Int((coordinate / width).rounded(.down))
    }

    private static func key(row: Int, column: Int) -> UInt64 {
        UInt64(UInt32(truncatingIfNeeded: row &+ 0x4000_0000)) << 32
            | UInt64(UInt32(truncatingIfNeeded: column &+ 0x4000_0000))
    }

    /// Calls `body` for every cell that a segment touches, row by row.
    private static func forEachCell(
        of segment: Int,
        in plane: ShapePlane,
        width: Double,
        _ body: (UInt64) -> Void
    ) {
        // A micrometre on every side, so that rounding never loses a cell.
        let margin = 1e-6
        let (x0, x1) = (plane.x[segment], plane.x[segment + 1])
        let (y0, y1) = (plane.y[segment], plane.y[segment + 1])
        let firstRow = cell(min(y0, y1) - margin, width)
        let lastRow = cell(max(y0, y1) + margin, width)
        for row in firstRow...lastRow {
            var (left, right) = (min(x0, x1), max(x0, x1))
            if firstRow != lastRow, y0 != y1 {
                let slope = (x1 - x0) / (y1 - y0)
                let low = x0 + (Double(row) * width - margin - y0) * slope
                let high = x0 + (Double(row + 1) * width + margin - y0) * slope
                left = max(left, min(low, high))
                right = min(right, max(low, high))
            }
            let firstColumn = cell(left - margin, width)
            let lastColumn = cell(right + margin, width)
            guard firstColumn <= lastColumn else { continue }
            for column in firstColumn...lastColumn { body(key(row: row, column: column)) }
        }
    }

    private func forEachSegment(around place: PlanePoint, _ body: (Int) -> Void) {
        let row = Self.cell(place.y, width)
        let column = Self.cell(place.x, width)
        for near in (row - 1)...(row + 1) {
            let end = Self.key(row: near, column: column + 1)
            var index = lowerBound(Self.key(row: near, column: column - 1))
            while index < keys.count, keys[index] <= end {
                body(Int(segments[index]))
                index += 1
            }
        }
    }

    private func lowerBound(_ key: UInt64) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
