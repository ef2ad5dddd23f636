internal import FoundationEssentials
internal import Prediction
internal import Schedule
internal import Transit

/// Recorded buses with the schedule that they ran on.
struct Recording {
    /// A bus at a moment.
    struct Position {
        let bus: String
        let run: TripInstance
        let time: UnixSeconds
        let coordinate: Coordinate
    }

    /// Why a recording cannot be played.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// In the order of time.
    let positions: [Position]
    let runs: [TripInstance: TripRun]

    private init(_ positions: [Position], _ index: ScheduleIndex) {
        self.positions = positions.sorted { $0.time < $1.time }
        var runs: [TripInstance: TripRun] = [:]
        for position in positions where runs[position.run] == nil {
            guard let trip = index.trip(position.run.tripID) else { continue }
            let start = index.startOfService(on: position.run.startDate)
            runs[position.run] = TripRun(trip: trip, startOfService: start)
        }
        self.runs = runs
    }

    /// Every other bus, by number: the first half to tune on, the second to report.
    var halves: (tuning: Set<String>, reporting: Set<String>) {
        let buses = Set(positions.map(\.bus)).sorted()
        let tuning = buses.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        return (Set(tuning), Set(buses).subtracting(tuning))
    }

    /// Five hours of WMATA's D40 and C53 on 16 February 2026.
    static func wmata2026(_ folder: String) throws -> Recording {
        let index = try ScheduleLoader.load(path: folder + "/feeds/wmata-2026-D40-C53.gtfs.zip")
        let table = try rows(
            folder + "/traces/wmata-2026-02-16-D40-C53.vehiclepositions.csv"
        )
        let positions = table.compactMap { row -> Position? in
            guard let trip = row["vehicle.trip.trip_id"],
                let date = row["vehicle.trip.start_date"].flatMap(ServiceDate.init),
                let bus = row["vehicle.vehicle.id"],
                let time = row["vehicle.timestamp"].flatMap({ Int64($0) }),
                let place = place(
                    row["vehicle.position.latitude"],
                    row["vehicle.position.longitude"]
                )
            else { return nil }
            let run = TripInstance(tripID: TripID(trip), startDate: date)
            return Position(bus: bus, run: run, time: time, coordinate: place)
        }
        return Recording(positions, index)
    }

    /// One bus of 2016, whose trips are found by their times: the recording names its block alone.
    static func wmata2016(_ folder: String, _ route: String) throws -> Recording {
        let trips: [TripID] =
            route == "S2" ? ["877611130"] : ["868590120", "868588920"]
        let file = route == "S2" ? "S2-2113" : "5A-8062"
        let index = try ScheduleLoader.load(path: folder + "/feeds/wmata-2016-\(route).gtfs.zip")
        let table = try rows(folder + "/traces/wmata-2016-\(file).avl.csv")
        let positions = table.compactMap { row -> Position? in
            guard let bus = row["vehicleId"], let text = row["time"],
                let local = localTime(text), let place = place(row["latitude"], row["longitude"])
            else { return nil }
            let start = index.startOfService(on: local.date)
            let offset = local.secondsOfDay
            // The trip under way, or the one that is about to begin.
            let trip = trips.compactMap { index.trip($0) }.last { $0.startTime - 600 <= offset }
            guard let trip else { return nil }
            let run = TripInstance(tripID: trip.id, startDate: local.date)
            return Position(
                bus: bus,
                run: run,
                time: start + Int64(offset),
                coordinate: place
            )
        }
        return Recording(positions, index)
    }

    /// When each bus passed each stop, found from its own positions alone.
    func passages(_ rules: PredictionRules) -> [TripPredictor.Key: [Int: Double]] {
        var last: [TripPredictor.Key: TripProgress] = [:]
        var passages: [TripPredictor.Key: [Int: Double]] = [:]
        for position in positions {
            guard let run = runs[position.run] else { continue }
            let key = TripPredictor.Key(run: position.run, vehicle: position.bus)
            guard var progress = last[key] else {
                last[key] = TripProgress(
                    position.coordinate,
                    at: position.time,
                    on: run,
                    rules: rules
                )
                continue
            }
            let before = progress
            progress.advance(to: position.coordinate, at: position.time, on: run, rules: rules) {
                _,
                _,
                _ in
            }
            last[key] = progress
            let gap = progress.measuredAt - before.measuredAt
            guard progress.along > before.along, gap > 0, gap <= rules.largestGap else { continue }
            for (index, stop) in run.trip.stopTimes.enumerated()
            where stop.alongShape > before.along && stop.alongShape <= progress.along {
                let share = (stop.alongShape - before.along) / (progress.along - before.along)
                passages[key, default: [:]][index] =
                    Double(before.measuredAt) + share * Double(gap)
            }
        }
        return passages
    }

    // MARK: - Files

    private static func place(_ latitude: String?, _ longitude: String?) -> Coordinate? {
        guard let latitude = latitude.flatMap({ Double($0) }),
            let longitude = longitude.flatMap({ Double($0) })
        else { return nil }
        let place = Coordinate(latitude: latitude, longitude: longitude)
        return place.isValid ? place : nil
    }

    /// `2016-04-29 08:23:52`, the agency's clock.
    private static func localTime(_ text: String) -> (date: ServiceDate, secondsOfDay: Int)? {
        let numbers = text.split { "-: ".contains($0) }.compactMap { Int($0) }
        guard numbers.count == 6,
            let date = ServiceDate(year: numbers[0], month: numbers[1], day: numbers[2])
        else { return nil }
        return (date, numbers[3] * 3600 + numbers[4] * 60 + numbers[5])
    }

    /// The rows of a CSV file whose values hold no comma, by column.
    private static func rows(_ path: String) throws -> [[String: String]] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(description: "\(path) cannot be read")
        }
        let lines = String(decoding: data, as: UTF8.self).split { $0.isNewline }
        func fields(_ line: Substring) -> [String] {
            line.split(separator: ",", omittingEmptySubsequences: false).map { field in
                String(field.drop { $0 == "\"" }.prefix { $0 != "\"" })
            }
        }
        guard let head = lines.first.map(fields) else { return [] }
        return lines.dropFirst().map { line in
            Dictionary(zip(head, fields(line)), uniquingKeysWith: { first, _ in first })
        }
    }
}
