internal import Transit

/// Where in a list those of a trip, of a route or of a place are, so that a narrow filter looks at few.
///
/// A reader for whom there is nothing would otherwise cost a look at every vehicle each second, on the one thread
/// that answers everybody.
struct StreamIndex: Sendable {
    /// A square of a tenth of a degree.
    private struct Cell: Hashable {
        let x, y: Int32

        init(longitude: Double, latitude: Double) {
            x = Int32((longitude * 10).rounded(.down))
            y = Int32((latitude * 10).rounded(.down))
        }
    }

    /// Beyond this share of the list all of it is looked at, as what is found has to be put in order.
    private static let worthwhile = 4

    private var trips: [TripID: [Int32]] = [:]
    private var routes: [RouteID: [Int32]] = [:]
    private var cells: [Cell: [Int32]] = [:]
    private let count: Int

    /// Makes an index.
    ///
    /// - Parameters:
    ///   - count: How many places the list has.
    ///   - entities: Those at a place; a change has two.
    init(_ count: Int, _ entities: (Int) -> (StreamEntity?, StreamEntity?)) {
        self.count = count
        for place in 0..<count {
            let (one, other) = entities(place)
            add(one, at: Int32(place))
            add(other, at: Int32(place))
        }
    }

    private mutating func add(_ entity: StreamEntity?, at place: Int32) {
        guard let entity else { return }
        if let trip = entity.tripID { Self.add(place, to: &trips[trip, default: []]) }
        if let route = entity.routeID { Self.add(place, to: &routes[route, default: []]) }
        guard let at = entity.coordinate, abs(at.longitude) <= 180, abs(at.latitude) <= 90 else {
            return
        }
        let cell = Cell(longitude: at.longitude, latitude: at.latitude)
        Self.add(place, to: &cells[cell, default: []])
    }

    private static func add(_ place: Int32, to places: inout [Int32]) {
        if places.last != place { places.append(place) }
    }

    /// The places, in order, at which there may be something for a filter.
    ///
    /// - Returns: nil when all of them are to be looked at.
    func places(for filter: StreamFilter) -> [Int32]? {
        if let trip = filter.tripID { return trips[trip] ?? [] }
        if let route = filter.routeID { return routes[route] ?? [] }
        guard let box = filter.box else { return nil }
        let low = Cell(longitude: box.longitudes.lowerBound, latitude: box.latitudes.lowerBound)
        let high = Cell(longitude: box.longitudes.upperBound, latitude: box.latitudes.upperBound)
        let (columns, rows) = (low.x...high.x, low.y...high.y)
        var found: [Int32] = []
        for (cell, places) in cells where columns.contains(cell.x) && rows.contains(cell.y) {
            found += places
            if found.count > count / Self.worthwhile { return nil }
        }
        found.sort()
        // A change may lie in two cells.
        var last: Int32 = -1
        found.removeAll { place in
            defer { last = place }
            return place == last
        }
        return found
    }
}
