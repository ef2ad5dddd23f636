internal import Transit

/// The small tables of a feed.
enum FeedTables {
    static func agency(
        _ files: FeedFiles,
        _ counts: inout ScheduleCounts
    ) throws(ScheduleError) -> (name: String, timeZone: TimeZoneRules) {
        var table = try files.required("agency.txt")
        let zone = try table.required("agency_timezone")
        let name = table.column("agency_name")
        var result: (name: String, timeZone: TimeZoneRules)?
        while try table.next() {
            guard result == nil else { continue }
            do throws(TimeZoneError) {
                let rules = try TimeZoneRules(named: table.text(table[zone]).trimmed)
                result = (table.text(table[name]), rules)
            } catch {
                throw table.failure("\(error)")
            }
        }
        counts.agencies = table.rowCount
        guard let result else {
            throw ScheduleError(
                source: files.source,
                file: "agency.txt",
                line: 2,
                reason: "it names no agency"
            )
        }
        return result
    }

    static func stops(
        _ files: FeedFiles,
        _ counts: inout ScheduleCounts
    ) throws(ScheduleError) -> [StopID: Stop] {
        var table = try files.required("stops.txt")
        let id = try table.required("stop_id")
        let name = table.column("stop_name")
        let latitude = table.column("stop_lat")
        let longitude = table.column("stop_lon")
        let type = table.column("location_type")
        var stops: [StopID: Stop] = [:]
        while try table.next() {
            let north = try table.degrees("stop_lat", latitude, most: 90)
            let east = try table.degrees("stop_lon", longitude, most: 180)
            var coordinate: Coordinate?
            if let north, let east {
                let place = Coordinate(latitude: north, longitude: east)
                coordinate = place.isValid ? place : nil
            }
            let stopID = StopID(table.text(table[id]))
            stops[stopID] = Stop(
                id: stopID,
                name: table.text(table[name]),
                coordinate: coordinate,
                locationType: (try? table.integer("location_type", type)) ?? 0
            )
        }
        counts.stops = table.rowCount
        return stops
    }

    static func routes(
        _ files: FeedFiles,
        _ counts: inout ScheduleCounts
    ) throws(ScheduleError) -> [Route] {
        var table = try files.required("routes.txt")
        let id = try table.required("route_id")
        let agency = table.column("agency_id")
        let short = table.column("route_short_name")
        let long = table.column("route_long_name")
        let type = table.column("route_type")
        let color = table.column("route_color")
        let textColor = table.column("route_text_color")
        let order = table.column("route_sort_order")
        var routes: [Route] = []
        while try table.next() {
            routes.append(
                Route(
                    id: RouteID(table.text(table[id])),
                    agencyID: AgencyID(table.text(table[agency])),
                    shortName: table.text(table[short]),
                    longName: table.text(table[long]),
                    type: (try? table.integer("route_type", type)) ?? 3,
                    color: table.text(table[color]).trimmed,
                    textColor: table.text(table[textColor]).trimmed,
                    sortOrder: (try? table.integer("route_sort_order", order)) ?? nil
                )
            )
        }
        counts.routes = table.rowCount
        return routes
    }

    private static let days = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]

    static func calendars(
        _ files: FeedFiles,
        _ counts: inout ScheduleCounts
    ) throws(ScheduleError) -> [ServiceID: ServiceCalendar] {
        var calendars: [ServiceID: ServiceCalendar] = [:]
        if var table = try files.optional("calendar.txt") {
            let id = try table.required("service_id")
            let columns = days.map(table.column)
            let start = try table.required("start_date")
            let end = try table.required("end_date")
            while try table.next() {
                var weekdays: UInt8 = 0
                for (day, column) in columns.enumerated() {
                    switch try table.integer(days[day], column) {
                    case 1: weekdays |= 1 << UInt8(day)
                    case 0, nil: break
                    default: throw table.failure(days[day], table[column], "0 or 1")
                    }
                }
                let first = try table.date("start_date", start)
                let last = try table.date("end_date", end)
                calendars[ServiceID(table.text(table[id]))] = ServiceCalendar(
                    weekdays: weekdays,
                    period: first <= last ? first...last : nil
                )
            }
        }
        if var table = try files.optional("calendar_dates.txt") {
            let id = try table.required("service_id")
            let dateColumn = try table.required("date")
            let kind = try table.required("exception_type")
            while try table.next() {
                let date = try table.date("date", dateColumn)
                let service = ServiceID(table.text(table[id]))
                switch try table.integer("exception_type", kind) {
                case 1: calendars[service, default: ServiceCalendar()].added.insert(date)
                case 2: calendars[service, default: ServiceCalendar()].removed.insert(date)
                default: throw table.failure("exception_type", table[kind], "1 or 2")
                }
            }
        }
        counts.services = calendars.count
        return calendars
    }

    /// The numbers of the trips that frequencies.txt names; they are not expanded into runs.
    static func frequencies(
        _ files: FeedFiles,
        _ trips: InternTable
    ) throws(ScheduleError) -> [Int: TripFacts.Frequency] {
        guard var table = try files.optional("frequencies.txt") else { return [:] }
        let id = try table.required("trip_id")
        let exact = table.column("exact_times")
        var found: [Int: TripFacts.Frequency] = [:]
        while try table.next() {
            guard let trip = trips.find(table[id], of: table) else { continue }
            let isExact = ((try? table.integer("exact_times", exact)) ?? 0) == 1
            found[trip] = isExact ? .exact : .approximate
        }
        return found
    }
}

/// The rows of trips.txt; of two with one id the last wins.
struct TripTable {
    private(set) var ids = InternTable()
    private(set) var rows: [TripBuilder.Row] = []
    private(set) var rowCount = 0

    init(_ files: FeedFiles, shapes: InternTable) throws(ScheduleError) {
        var table = try files.required("trips.txt")
        let id = try table.required("trip_id")
        let route = try table.required("route_id")
        let service = try table.required("service_id")
        let shape = table.column("shape_id")
        let headsign = table.column("trip_headsign")
        let direction = table.column("direction_id")
        while try table.next() {
            let index = ids.intern(table[id], of: table)
            let row = TripBuilder.Row(
                id: TripID(table.text(table[id])),
                routeID: RouteID(table.text(table[route])),
                serviceID: ServiceID(table.text(table[service])),
                // What only describes a trip never refuses a feed.
                directionID: (try? table.integer("direction_id", direction)) ?? nil,
                headsign: table.text(table[headsign]),
                shape: shapes.find(table[shape], of: table) ?? -1
            )
            if index < rows.count { rows[index] = row } else { rows.append(row) }
        }
        rowCount = table.rowCount
    }
}
