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
        for segment in plane.segments { reach += abs(segment.dx) + abs(segment.dy) }
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
        var best = SegmentHit.none
        forEachSegment(around: place) { segment in
            let hit = plane.hit(segment, place)
            if hit.isNearer(than: best) { best = hit }
        }
        return best.squaredDistance <= decidableSquare ? best : nil
    }

    /// The cheapest candidate when all candidates surely lie in the nine cells around the place.
    ///
    /// One look at the cells finds the best distance and sets aside what can be a candidate; where that
    /// does not fit into a few places on the stack, this gives up too.
    func choose(
        _ place: PlanePoint,
        in plane: ShapePlane,
        _ cost: (Double) -> Double
    ) -> SegmentHit? {
        withUnsafeTemporaryAllocation(of: SegmentHit.self, capacity: Self.keptHits) { kept in
            var count = 0
            var best = SegmentHit.none
            var bound = Double.infinity
            forEachSegment(around: place) { segment in
                let hit = plane.hit(segment, place)
                // The bound only falls while the best gets better: nothing is left out too early.
                guard hit.squaredDistance <= bound else { return }
                if hit.isNearer(than: best) {
                    best = hit
                    bound = ShapePlane.admissibleBound(best: hit.squaredDistance)
                }
                if count < kept.count { kept.initializeElement(at: count, to: hit) }
                count += 1
            }
            let limit = ShapePlane.admissibleSquare(best: best.squaredDistance)
            guard limit <= decidableSquare, count <= kept.count else { return nil }
            let hits = UnsafeBufferPointer(rebasing: kept[..<count])
            return Self.cheapest(of: hits, best, within: limit, place, in: plane, cost)
        }
    }

    /// How many hits are set aside, 24 bytes each: more than come near on any road.
    private static let keptHits = 40

    /// The cheapest of the best hit and the other local minima within the limit, the first segment on
    /// ties.
    private static func cheapest(
        of hits: UnsafeBufferPointer<SegmentHit>,
        _ best: SegmentHit,
        within limit: Double,
        _ place: PlanePoint,
        in plane: ShapePlane,
        _ cost: (Double) -> Double
    ) -> SegmentHit {
        var chosen = best
        // Most places have one candidate, and that needs no price.
        var lowest: Double?
        for hit in hits where hit.squaredDistance <= limit {
            // Most hits are the best one, which is in several cells, or beside it, where nothing further
            // off is a minimum.
            let steps = abs(hit.segment - best.segment)
            if steps <= 1, steps == 0 || hit.squaredDistance > best.squaredDistance { continue }
            guard plane.isLocalMinimum(hit, place) else { continue }
            // A segment in two cells, or two segments that meet at the nearest place.
            if hit.along == chosen.along {
                if hit.segment < chosen.segment { chosen = hit }
                continue
            }
            let bound = lowest ?? cost(chosen.along)
            let price = cost(hit.along)
            lowest = min(bound, price)
            if price < bound || price == bound && hit.segment < chosen.segment { chosen = hit }
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
        of index: Int,
        in plane: ShapePlane,
        width: Double,
        _ body: (UInt64) -> Void
    ) {
        // A micrometre on every side, so that rounding never loses a cell.
        let margin = 1e-6
        let segment = plane.segments[index]
        let (x0, x1) = (segment.x, segment.x + segment.dx)
        let (y0, y1) = (segment.y, segment.y + segment.dy)
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

    /// Calls `body` for the segments of the nine cells around a place, those of its own row first: the
    /// nearest ones come early.
    @inline(__always)
    private func forEachSegment(around place: PlanePoint, _ body: (Int) -> Void) {
        let row = Self.cell(place.y, width)
        let column = Self.cell(place.x, width)
        let middle = lowerBound(Self.key(row: row, column: column - 1), from: 0, to: keys.count)
        let end = forEachSegment(from: middle, row, column, body)
        let above = firstEntry(from: Self.key(row: row + 1, column: column - 1), after: end)
        _ = forEachSegment(from: above, row + 1, column, body)
        let below = firstEntry(from: Self.key(row: row - 1, column: column - 1), before: middle)
        _ = forEachSegment(from: below, row - 1, column, body)
    }

    /// Calls `body` for the segments of three cells of a row, and returns the entry behind them.
    @inline(__always)
    private func forEachSegment(
        from first: Int,
        _ row: Int,
        _ column: Int,
        _ body: (Int) -> Void
    ) -> Int {
        let last = Self.key(row: row, column: column + 1)
        var index = first
        while index < keys.count, keys[index] <= last {
            body(Int(segments[index]))
            index += 1
        }
        return index
    }

    // Rows that touch are near one another in memory: growing steps find the next one sooner than
    // halving everything does.

    /// The first entry that is not below a key, known to lie at or after an entry.
    private func firstEntry(from key: UInt64, after first: Int) -> Int {
        var low = first
        var step = 1
        while low + step < keys.count, keys[low + step] < key {
            low += step
            step *= 2
        }
        return lowerBound(key, from: low, to: min(low + step, keys.count))
    }

    /// The first entry that is not below a key, known to lie at or before an entry.
    private func firstEntry(from key: UInt64, before last: Int) -> Int {
        var high = last
        var step = 1
        while high - step >= 0, keys[high - step] >= key {
            high -= step
            step *= 2
        }
        return lowerBound(key, from: max(high - step, 0), to: high)
    }

    private func lowerBound(_ key: UInt64, from first: Int, to end: Int) -> Int {
        var low = first
        var high = end
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
