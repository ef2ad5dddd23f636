internal import Transit

/// The rows of stop_times.txt that belong to trips with a shape, in columns.
struct StopTimeReader {
    /// Stands for a time that a row leaves out.
    static let noTime = Int32.min

    /// A usual row's length, for making room.
    private static let bytesPerRow = 40

    private(set) var rowCount = 0
    /// The stop that came after each stop the last time: trips of one pattern save the look-up.
    private var followers: [Int32] = []
    private(set) var stopIDs = InternTable()
    private(set) var trips: [Int32] = []
    private(set) var stops: [Int32] = []
    private(set) var sequence: [Int32] = []
    private(set) var arrivals: [Int32] = []
    private(set) var departures: [Int32] = []
    private(set) var distances: [Double] = []

    /// Reads the table.
    ///
    /// - Parameters:
    ///   - table: stop_times.txt.
    ///   - tripIDs: The trips that are known; rows of others are counted only.
    ///   - isWanted: Whether a trip's rows are kept; nil keeps every row, known trip or not.
    /// - Throws: ``ScheduleError`` at the first broken row.
    init(_ table: Table, tripIDs: InternTable, isWanted: [Bool]?) throws(ScheduleError) {
        var table = table
        var tripIDs = tripIDs
        let expected = table.bytes.count / Self.bytesPerRow
        trips.reserveCapacity(expected)
        stops.reserveCapacity(expected)
        sequence.reserveCapacity(expected)
        arrivals.reserveCapacity(expected)
        departures.reserveCapacity(expected)
        distances.reserveCapacity(expected)
        let trip = try table.required("trip_id")
        let stop = table.column("stop_id")
        let order = try table.required("stop_sequence")
        let arrival = table.column("arrival_time")
        let departure = table.column("departure_time")
        let distance = table.column("shape_dist_traveled")
        var current = -1
        while try table.next() {
            // Rows come grouped by trip, so the row before saves most look-ups.
            let field = table[trip]
            if !tripIDs.matches(current, field, of: table) {
                current =
                    isWanted == nil
                    ? tripIDs.intern(field, of: table) : tripIDs.find(field, of: table) ?? -1
            }
            // Every row is checked, whoever it belongs to: a broken table is not half right.
            guard let number = try table.integer("stop_sequence", order) else {
                throw table.failure("stop_sequence is missing")
            }
            let arrives = try table.time("arrival_time", arrival)
            let departs = try table.time("departure_time", departure)
            let along = try table.decimal("shape_dist_traveled", distance)
            guard current >= 0, isWanted?[current] ?? true else { continue }
            trips.append(Int32(truncatingIfNeeded: current))
            stops.append(stopNumber(table[stop], of: table))
            sequence.append(Int32(truncatingIfNeeded: number))
            arrivals.append((arrives ?? departs).map { Int32($0) } ?? Self.noTime)
            departures.append((departs ?? arrives).map { Int32($0) } ?? Self.noTime)
            distances.append(along ?? .nan)
        }
        rowCount = table.rowCount
    }

    private mutating func stopNumber(_ field: Field, of table: Table) -> Int32 {
        let last = stops.last.map(Int.init) ?? -1
        if last >= 0, stopIDs.matches(Int(followers[last]), field, of: table) {
            return followers[last]
        }
        let number = Int32(truncatingIfNeeded: stopIDs.intern(field, of: table))
        if followers.count < stopIDs.count { followers.append(-1) }
        if last >= 0 { followers[last] = number }
        return number
    }
}
