internal import Glibc
public import Transit

/// Makes a schedule index of a GTFS zip.
public enum ScheduleLoader {
    /// The largest zip that is read, in bytes; the largest national feeds have about 300 MB.
    public static let zipLimit = 1 << 30

    /// Loads a zip from a file; blocks for as long as that takes.
    ///
    /// - Parameter path: The zip.
    /// - Returns: The index.
    /// - Throws: ``ScheduleError`` naming file, line and reason.
    public static func load(path: String) throws(ScheduleError) -> ScheduleIndex {
        try load(zip: try bytes(path: path), name: fileName(path))
    }

    /// Loads a zip from memory; blocks for as long as that takes, about a second per million rows.
    ///
    /// Trips without a shape of two points or without stop times are counted, but not in the index.
    ///
    /// - Parameters:
    ///   - bytes: The zip.
    ///   - name: What errors call it.
    /// - Returns: The index.
    /// - Throws: ``ScheduleError`` naming file, line and reason.
    public static func load(
        zip bytes: [UInt8],
        name: String
    ) throws(ScheduleError) -> ScheduleIndex {
        try load(zip: bytes, name: name, unpackedLimit: ZipReader.unpackedLimit)
    }

    /// Reads a stop_times.txt and keeps nothing, for measuring.
    ///
    /// - Parameter bytes: The unzipped table.
    /// - Returns: How many rows it has.
    /// - Throws: ``ScheduleError`` at the first broken row.
    public static func parseStopTimes(_ bytes: [UInt8]) throws(ScheduleError) -> Int {
        let table = try Table(bytes, file: "stop_times.txt", source: "memory")
        return try StopTimeReader(table, tripIDs: InternTable(), isWanted: nil).trips.count
    }

    static func load(
        zip bytes: [UInt8],
        name: String,
        unpackedLimit: Int
    ) throws(ScheduleError) -> ScheduleIndex {
        let files = try FeedFiles(bytes, source: name, unpackedLimit: unpackedLimit)
        var counts = ScheduleCounts()
        let agency = try FeedTables.agency(files, &counts)
        let stops = try FeedTables.stops(files, &counts)
        let routes = try FeedTables.routes(files, &counts)
        let calendars = try FeedTables.calendars(files, &counts)
        let shapes = try ShapeReader(try files.optional("shapes.txt"))
        counts.shapes = shapes.ids.count
        counts.shapePoints = shapes.pointCount
        let trips = try TripTable(files, shapes: shapes.ids)
        counts.trips = trips.rowCount
        let frequent = try FeedTables.frequencies(files, trips.ids)
        let built = (0..<shapes.ids.count).map { shapes.shape($0) }
        let rows = try StopTimeReader(
            try files.required("stop_times.txt"),
            tripIDs: trips.ids,
            isWanted: trips.rows.map { $0.shape >= 0 && built[$0.shape] != nil }
        )
        counts.stopTimes = rows.rowCount
        var builder = TripBuilder(rows, tripCount: trips.rows.count, stops: stops)
        let riderTrips = trips.rows.enumerated().compactMap { index, row -> Trip? in
            guard row.shape >= 0, let shape = built[row.shape] else { return nil }
            let isFrequent = frequent[index] != nil
            return builder.trip(index, row, shape: shape, isFrequencyBased: isFrequent)
        }
        let shaped = Set(riderTrips.map(\.id))
        var others: [TripID: TripFacts] = [:]
        for (index, row) in trips.rows.enumerated() where !shaped.contains(row.id) {
            others[row.id] = row.facts(rows.firstCalls[index]?.arrival, frequent[index])
        }
        counts.riderTrips = riderTrips.count
        return ScheduleIndex(
            timeZone: agency.timeZone,
            agencyName: agency.name,
            trips: riderTrips,
            calendars: calendars,
            routes: routes,
            stops: Array(stops.values),
            otherTrips: others,
            frequencies: Dictionary(
                uniqueKeysWithValues: frequent.map { (trips.rows[$0.key].id, $0.value) }
            ),
            counts: counts
        )
    }

    // MARK: - Files

    static func fileName(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    /// Reads a whole file.
    static func bytes(path: String) throws(ScheduleError) -> [UInt8] {
        let name = fileName(path)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw ScheduleError(source: name, reason: "it cannot be opened: \(reason)")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ScheduleError(source: name, reason: "it is not a file")
        }
        let size = Int(status.st_size)
        guard size <= zipLimit else {
            throw ScheduleError(source: name, reason: "it is larger than \(zipLimit) bytes")
        }
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size, let base = buffer.baseAddress {
                let got = read(descriptor, base + count, size - count)
                guard got > 0 else { break }
                count += got
            }
        }
        guard bytes.count == size else {
            throw ScheduleError(source: name, reason: "it cannot be read to its end")
        }
        return bytes
    }
}
