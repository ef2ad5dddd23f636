internal import Transit

/// The rows of shapes.txt.
struct ShapeReader {
    private(set) var ids = InternTable()
    private(set) var pointCount = 0

    private var shapes: [Int32] = []
    private var sequence: [Int32] = []
    private var points: [Coordinate] = []
    private var distances: [Double] = []
    private var grouping: Grouping?

    /// A shape and, where every point has a usable one, its own measure of distance.
    struct Shape {
        let geometry: ShapeGeometry
        /// shape_dist_traveled per point in whatever unit, never decreasing; empty if unusable.
        let measure: [Double]
    }

    init(_ table: Table?) throws(ScheduleError) {
        guard var table else { return }
        let idColumn = try table.required("shape_id")
        let latitude = try table.required("shape_pt_lat")
        let longitude = try table.required("shape_pt_lon")
        let order = try table.required("shape_pt_sequence")
        let distance = table.column("shape_dist_traveled")
        var current = -1
        while try table.next() {
            let id = table[idColumn]
            if !ids.matches(current, id, of: table) { current = ids.intern(id, of: table) }
            guard let north = try table.degrees("shape_pt_lat", latitude, most: 90),
                let east = try table.degrees("shape_pt_lon", longitude, most: 180)
            else { throw table.failure("the point has no coordinates") }
            guard let number = try table.integer("shape_pt_sequence", order) else {
                throw table.failure("shape_pt_sequence is missing")
            }
            shapes.append(Int32(truncatingIfNeeded: current))
            sequence.append(Int32(truncatingIfNeeded: number))
            points.append(Coordinate(latitude: north, longitude: east))
            distances.append(try table.decimal("shape_dist_traveled", distance) ?? .nan)
        }
        pointCount = table.rowCount
        grouping = Grouping(groups: shapes, groupCount: ids.count)
    }

    /// Builds one shape.
    ///
    /// - Returns: nil for a shape of fewer than two points.
    func shape(_ index: Int) -> Shape? {
        guard let rows = grouping?.rows(of: index, by: sequence),
            let geometry = ShapeGeometry(points: rows.map { points[$0] })
        else { return nil }
        let measure = rows.map { distances[$0] }
        let isRising = zip(measure, measure.dropFirst()).allSatisfy { $0 <= $1 }
        let first = measure.first ?? 0
        let last = measure.last ?? 0
        return Shape(geometry: geometry, measure: isRising && first < last ? measure : [])
    }
}
