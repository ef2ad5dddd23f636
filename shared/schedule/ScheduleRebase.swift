public import Transit

/// Moves a schedule to today, so that a demo has trips under way at any hour of any day.
public enum ScheduleRebase {
    /// Rewrites a feed so that its busiest day is today and every day, seen from a chosen time on.
    ///
    /// All agencies move to the zone `Etc/GMT±n` in which the wall clock is nearest to that time, at
    /// most half an hour off. The services of the busiest day run daily from a day ago for a year;
    /// the others never run. Shapes, stops and times stay as they are.
    ///
    /// - Parameters:
    ///   - bytes: The feed.
    ///   - name: What errors call it.
    ///   - now: The instant that becomes the chosen time.
    ///   - secondsOfDay: The wall clock's time wanted at `now`; by default the one around which the
    ///     most trips are under way.
    /// - Returns: The new feed.
    /// - Throws: ``ScheduleError`` when the feed cannot be loaded or no rider trip ever runs.
    public static func rebase(
        zip bytes: [UInt8],
        name: String = "schedule",
        now: UnixSeconds,
        secondsOfDay: Int? = nil
    ) throws(ScheduleError) -> [UInt8] {
        let index = try ScheduleLoader.load(zip: bytes, name: name)
        guard let busiest = busiestDate(of: index) else {
            throw ScheduleError(source: name, reason: "no trip with a shape ever runs")
        }
        let wanted = secondsOfDay ?? busiestTime(of: index, on: busiest)
        let offset = hours(east: wanted, at: now)
        let zone = offset == 0 ? "Etc/GMT" : "Etc/GMT\(offset > 0 ? "-" : "+")\(abs(offset))"
        let local = Int(now) + offset * 3600
        let today = ServiceDate(daysSince1970: local.flooredQuotient(86_400))
        let files = try FeedFiles(
            bytes,
            source: name,
            unpackedLimit: ZipReader.unpackedLimit
        )
        var result: [(name: String, bytes: [UInt8])] = []
        for file in files.names where !file.contains("/") {
            switch file {
            case "calendar.txt", "calendar_dates.txt":
                continue
            case "agency.txt":
                let text = try replacing(files, file, ["agency_timezone": zone])
                result.append((file, text))
            case "feed_info.txt":
                let blank = ["feed_start_date": "", "feed_end_date": ""]
                result.append((file, try replacing(files, file, blank)))
            default:
                if let content = try files.bytes(file) { result.append((file, content)) }
            }
        }
        result.append(("calendar.txt", calendar(of: index, on: busiest, today: today)))
        return try ZipArchive.write(result)
    }

    // MARK: - When most is going on

    /// Days looked at for the busiest; a feed's calendar rarely covers more than a year.
    private static let daysSearched = 800

    private static func busiestDate(of index: ScheduleIndex) -> ServiceDate? {
        var trips: [ServiceID: Int] = [:]
        for id in index.tripIDs {
            if let trip = index.trip(id) { trips[trip.serviceID, default: 0] += 1 }
        }
        let calendars = trips.compactMap { service, count in
            index.calendar(service).map { (calendar: $0, count: count) }
        }
        let dates = calendars.flatMap { entry in
            [entry.calendar.period?.lowerBound].compactMap { $0 } + Array(entry.calendar.added)
        }
        guard let first = dates.min() else { return nil }
        var best: (date: ServiceDate, count: Int)?
        for day in 0..<daysSearched {
            let date = first.adding(days: day)
            let count = calendars.reduce(0) { $1.calendar.isActive(on: date) ? $0 + $1.count : $0 }
            if count > best?.count ?? 0 { best = (date, count) }
        }
        return best?.date
    }

    /// The time whose surroundings, half an hour before to an hour and a half after, never have
    /// fewer trips under way than those of any other.
    private static func busiestTime(of index: ScheduleIndex, on date: ServiceDate) -> Int {
        let step = 600
        var running = [Int](repeating: 0, count: 86_400 / step)
        for id in index.tripIDs {
            guard let trip = index.trip(id), index.isActive(trip, on: date) else { continue }
            let first = max(0, (trip.startTime + step - 1) / step)
            let last = trip.endTime / step
            guard first <= last else { continue }
            for slot in first...min(last, first + running.count - 1) {
                running[slot % running.count] += 1
            }
        }
        let scores = running.indices.map { slot in
            (-3...9).map { running[(slot + $0 + running.count) % running.count] }.min() ?? 0
        }
        let best = scores.indices.max { scores[$0] < scores[$1] } ?? 0
        return best * step
    }

    /// Whole hours east of UTC, -11 to 12, that bring the wall clock nearest to a time of day.
    private static func hours(east wanted: Int, at now: UnixSeconds) -> Int {
        let utc = Int(now) - Int(now).flooredQuotient(86_400) * 86_400
        let difference = ((wanted - utc) % 86_400 + 86_400) % 86_400
        let hours = (difference + 1800) / 3600
        return hours > 12 ? hours - 24 : hours
    }

    // MARK: - Writing tables

    private static func calendar(
        of index: ScheduleIndex,
        on date: ServiceDate,
        today: ServiceDate
    ) -> [UInt8] {
        var text = "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,"
        text += "start_date,end_date\n"
        for service in index.serviceIDs {
            let runs = index.calendar(service)?.isActive(on: date) ?? false
            text += quoted(service.rawValue)
            text += String(repeating: runs ? ",1" : ",0", count: 7)
            text += ",\(today.adding(days: -1)),\(today.adding(days: 365))\n"
        }
        return Array(text.utf8)
    }

    private static func replacing(
        _ files: FeedFiles,
        _ file: String,
        _ values: [String: String]
    ) throws(ScheduleError) -> [UInt8] {
        var table = try files.required(file)
        var text = table.columns.map(quoted).joined(separator: ",") + "\n"
        while try table.next() {
            var row = table.texts
            for (column, name) in table.columns.enumerated() {
                guard let value = values[name], column < row.count else { continue }
                row[column] = value
            }
            text += row.map(quoted).joined(separator: ",") + "\n"
        }
        return Array(text.utf8)
    }

    private static func quoted(_ text: String) -> String {
        let needsQuotes = text.utf8.contains {
            $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D
        }
        guard needsQuotes else { return text }
        return "\"" + text.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }
}

extension Int {
    fileprivate func flooredQuotient(_ divisor: Int) -> Int {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}
