import Glibc
import Schedule

/// Measures how fast a schedule of a million stop times is ready, beside Python on the same file.
///
/// The peer is partridge where it is installed, else the csv module of the standard library; each
/// pair runs one after the other and the middle ratio of five counts.
enum ScheduleBench {
    private static let tripCount = 20_000
    private static let stopsPerTrip = 50
    private static let shapeCount = 100
    private static let pointsPerShape = 500
    private static let pairs = 5
    /// Times faster than partridge (architecture 11).
    private static let parseBar = 8.0
    private static let readyBar = 3.0
    private static let readyLimitSeconds = 1.5

    static func run() -> Int32 {
        do {
            let stopTimes = stopTimes()
            let zip = try ZipArchive.write([
                ("agency.txt", Array("agency_name,agency_timezone\nBench,Europe/Berlin\n".utf8)),
                ("routes.txt", Array("route_id,route_type\nR,3\n".utf8)),
                ("calendar.txt", calendar()),
                ("stops.txt", stops()), ("shapes.txt", shapes()), ("trips.txt", trips()),
                ("stop_times.txt", stopTimes),
            ])
            let path = "/tmp/alongside-bench-\(getpid()).zip"
            try write(zip, to: path)
            defer { unlink(path) }
            return try measure(stopTimes, zip, path)
        } catch {
            print("bench schedule failed: \(error)")
            return 1
        }
    }

    private static func measure(
        _ stopTimes: [UInt8],
        _ zip: [UInt8],
        _ path: String
    ) throws -> Int32 {
        let rows = tripCount * stopsPerTrip
        print("schedule: \(rows) stop_times, \(stopTimes.count) bytes, \(zip.count) zipped")
        let peerName = peer("import partridge; print(partridge.__name__)") ?? "csv"
        var parse: [Double] = []
        var ready: [Double] = []
        var peerParse: [Double] = []
        for _ in 0..<pairs {
            parse.append(try seconds { _ = try ScheduleLoader.parseStopTimes(stopTimes) })
            ready.append(try seconds { _ = try ScheduleLoader.load(path: path) })
            let script = peerName == "csv" ? csvScript(path) : partridgeScript(path)
            if let text = peer(script), let value = Double(text) { peerParse.append(value) }
        }
        let parsed = median(parse)
        print("parse: \(rounded(parsed)) s, \(Int(Double(rows) / parsed)) rows/s")
        print("zip to ready: \(rounded(median(ready))) s (bar \(readyLimitSeconds) s)")
        if peerParse.count == pairs {
            let ratio = median(zip2(peerParse, parse))
            let readyRatio = median(zip2(peerParse, ready))
            print("peer \(peerName) stop_times: \(rounded(median(peerParse))) s")
            print("ratio: parse \(rounded(ratio)), zip to ready \(rounded(readyRatio))")
            print("bars against partridge: parse \(parseBar), zip to ready \(readyBar)")
            guard peerName != "partridge" || ratio >= parseBar && readyRatio >= readyBar else {
                return 1
            }
        } else {
            print("peer: no python3 to compare with")
        }
        return median(ready) <= readyLimitSeconds ? 0 : 1
    }

    // MARK: - The feed

    private static func stopTimes() -> [UInt8] {
        var text: [UInt8] = Array(
            "\u{FEFF}trip_id,arrival_time,departure_time,stop_id,stop_sequence\r\n".utf8
        )
        text.reserveCapacity(50_000_000)
        for trip in 0..<tripCount {
            for stop in 0..<stopsPerTrip {
                let time = 4 * 3600 + trip % 1200 * 60 + stop * 90
                let clock = "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))"
                let id = trip % shapeCount * stopsPerTrip + stop
                text += "trip-\(trip),\(clock),\(clock),stop-\(id),\(stop + 1)\r\n".utf8
            }
        }
        return text
    }

    private static func calendar() -> [UInt8] {
        let days = "monday,tuesday,wednesday,thursday,friday,saturday,sunday"
        return Array(
            "service_id,\(days),start_date,end_date\nS,1,1,1,1,1,1,1,20260101,20261231\n".utf8
        )
    }

    private static func stops() -> [UInt8] {
        var text = "stop_id,stop_lat,stop_lon\n"
        for shape in 0..<shapeCount {
            for stop in 0..<stopsPerTrip {
                let point = stop * pointsPerShape / stopsPerTrip
                text += "stop-\(shape * stopsPerTrip + stop),\(place(shape, point))\n"
            }
        }
        return Array(text.utf8)
    }

    private static func shapes() -> [UInt8] {
        var text = "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\n"
        for shape in 0..<shapeCount {
            for point in 0..<pointsPerShape {
                text += "shape-\(shape),\(place(shape, point)),\(point)\n"
            }
        }
        return Array(text.utf8)
    }

    private static func trips() -> [UInt8] {
        var text = "trip_id,route_id,service_id,shape_id\n"
        for trip in 0..<tripCount { text += "trip-\(trip),R,S,shape-\(trip % shapeCount)\n" }
        return Array(text.utf8)
    }

    private static func place(_ shape: Int, _ point: Int) -> String {
        let north = 52.0 + Double(shape) * 0.002 + Double(point % 7) * 0.00005
        return "\(north),\(13.0 + Double(point) * 0.0004)"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    // MARK: - The peer

    private static func csvScript(_ path: String) -> String {
        """
        import csv,io,time,zipfile
        t=time.perf_counter()
        f=zipfile.ZipFile('\(path)').open('stop_times.txt')
        n=sum(1 for r in csv.DictReader(io.TextIOWrapper(f,'utf-8-sig')) if int(r['stop_sequence']))
        print(time.perf_counter()-t)
        """
    }

    /// With times and sequence numbers as numbers, as ours are.
    private static func partridgeScript(_ path: String) -> String {
        """
        import partridge,time
        t=time.perf_counter()
        len(partridge.load_feed('\(path)').stop_times)
        print(time.perf_counter()-t)
        """
    }

    /// Runs a Python script and returns its first line, or nil when it fails.
    private static func peer(_ script: String) -> String? {
        let python = access(".venv/bin/python", X_OK) == 0 ? ".venv/bin/python" : "python3"
        let command = "\(python) -c \"\(script)\" 2>/dev/null"
        guard let pipe = popen(command, "r") else { return nil }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = fread(&buffer, 1, buffer.count, pipe)
        guard pclose(pipe) == 0 else { return nil }
        let line = buffer.prefix(count).prefix { $0 != 0x0A }
        return String(decoding: line, as: UTF8.self)
    }

    // MARK: - Reckoning

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let duration = try clock.measure(body)
        return duration / .seconds(1)
    }

    private static func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }

    private static func zip2(_ left: [Double], _ right: [Double]) -> [Double] {
        zip(left, right).map { $0 / $1 }
    }

    private static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "w") else {
            throw ScheduleError(source: path, reason: "it cannot be written")
        }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
            throw ScheduleError(source: path, reason: "it cannot be written")
        }
    }
}
