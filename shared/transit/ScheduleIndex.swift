/// How much a schedule holds, as counted in its files.
public struct ScheduleCounts: Hashable, Sendable {
    /// Rows of agency.txt.
    public var agencies = 0
    /// Rows of routes.txt.
    public var routes = 0
    /// Rows of stops.txt.
    public var stops = 0
    /// Rows of trips.txt.
    public var trips = 0
    /// Rows of stop_times.txt.
    public var stopTimes = 0
    /// Different shape ids in shapes.txt.
    public var shapes = 0
    /// Rows of shapes.txt.
    public var shapePoints = 0
    /// Services in calendar.txt and calendar_dates.txt.
    public var services = 0
    /// Trips that have a shape and stop times, so that riders can be matched to them.
    public var riderTrips = 0

    /// All zero.
    public init() {}
}

/// What the services know of an agency's schedule: immutable, swapped as a whole.
public final class ScheduleIndex: Sendable {
    /// The zone of the first agency, in which all times are meant.
    public let timeZone: TimeZoneRules
    /// The name of the first agency.
    public let agencyName: String
    /// What the files held.
    public let counts: ScheduleCounts
    /// The ids of all rider trips, sorted by bytes.
    public let tripIDs: [TripID]

    /// The box around all shapes, or around all stops where there is no shape; nil without either.
    public let bounds: CoordinateBox?

    private let trips: [TripID: Trip]
    private let otherTrips: [TripID: TripFacts]
    private let frequencies: [TripID: TripFacts.Frequency]
    private let tripsOfRoute: [RouteID: [TripID]]
    private let calendars: [ServiceID: ServiceCalendar]
    private let routesByID: [RouteID: Route]
    private let stopsByID: [StopID: Stop]

    /// Local hours before this one belong to the service date before.
    public static let serviceDayStartHour = 3

    /// Makes an index of plain values, as the loader and tests do.
    ///
    /// - Parameters:
    ///   - timeZone: The zone of all times.
    ///   - agencyName: The first agency's name.
    ///   - trips: Trips with shape and stop times; of two with one id the last wins.
    ///   - calendars: The days of each service; a service without one never runs.
    ///   - routes: The routes; one missing here is known by its id only.
    ///   - stops: The stops by name and place.
    ///   - otherTrips: Trips that have no shape or no times, by id.
    ///   - frequencies: The trips that frequencies.txt names.
    ///   - counts: What the files held; by default counted from the values here.
    public init(
        timeZone: TimeZoneRules,
        agencyName: String = "",
        trips: [Trip],
        calendars: [ServiceID: ServiceCalendar],
        routes: [Route] = [],
        stops: [Stop] = [],
        otherTrips: [TripID: TripFacts] = [:],
        frequencies: [TripID: TripFacts.Frequency] = [:],
        counts: ScheduleCounts? = nil
    ) {
        self.timeZone = timeZone
        self.agencyName = agencyName
        self.calendars = calendars
        self.trips = Dictionary(trips.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        tripIDs = self.trips.keys.sorted()
        tripsOfRoute = Dictionary(grouping: self.trips.values, by: \.routeID).mapValues {
            $0.map(\.id).sorted()
        }
        routesByID = Dictionary(routes.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        stopsByID = Dictionary(stops.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        self.otherTrips = otherTrips
        self.frequencies = frequencies
        bounds = Self.box(self.trips.values, stops)
        self.counts = counts ?? Self.count(self.trips, calendars, routesByID, stopsByID)
    }

    private static func box(
        _ trips: some Collection<Trip>,
        _ stops: [Stop]
    ) -> CoordinateBox? {
        var seen: Set<ObjectIdentifier> = []
        var box: CoordinateBox?
        for trip in trips where seen.insert(ObjectIdentifier(trip.shape)).inserted {
            for point in trip.shape.points { CoordinateBox.extend(&box, by: point) }
        }
        if box == nil {
            for stop in stops { CoordinateBox.extend(&box, by: stop.coordinate) }
        }
        return box
    }

    private static func count(
        _ trips: [TripID: Trip],
        _ calendars: [ServiceID: ServiceCalendar],
        _ routes: [RouteID: Route],
        _ stops: [StopID: Stop]
    ) -> ScheduleCounts {
        var counts = ScheduleCounts()
        let shapes = Dictionary(
            trips.values.map { ($0.shape.contentHash, $0.shape.points.count) },
            uniquingKeysWith: { first, _ in first }
        )
        counts.agencies = 1
        counts.routes = routes.count
        counts.stops = stops.count
        counts.trips = trips.count
        counts.riderTrips = trips.count
        counts.stopTimes = trips.values.reduce(0) { $0 + $1.stopTimes.count }
        counts.shapes = shapes.count
        counts.shapePoints = shapes.values.reduce(0, +)
        counts.services = calendars.count
        return counts
    }

    // MARK: - Look-up

    /// The trip with an id, if riders can be matched to it.
    public func trip(_ id: TripID) -> Trip? { trips[id] }

    /// What the schedule says of any trip in it, with a shape or without.
    public func facts(of id: TripID) -> TripFacts? {
        guard let trip = trips[id] else { return otherTrips[id] }
        return TripFacts(
            routeID: trip.routeID,
            serviceID: trip.serviceID,
            directionID: trip.directionID,
            startTime: trip.startTime,
            frequency: frequencies[id] ?? (trip.isFrequencyBased ? .approximate : nil)
        )
    }

    /// The route with an id.
    public func route(_ id: RouteID) -> Route? { routesByID[id] }

    /// The stop with an id.
    public func stop(_ id: StopID) -> Stop? { stopsByID[id] }

    /// The calendar of a service.
    public func calendar(_ id: ServiceID) -> ServiceCalendar? { calendars[id] }

    /// The ids of all services that have a calendar, sorted by bytes.
    public var serviceIDs: [ServiceID] { calendars.keys.sorted() }

    /// The rider trips of a route, sorted by the bytes of their ids.
    public func tripIDs(of route: RouteID) -> [TripID] { tripsOfRoute[route] ?? [] }

    /// Every route in routes.txt, in no order.
    public var routes: some Collection<Route> { routesByID.values }

    /// Every stop in stops.txt, in no order.
    public var stops: some Collection<Stop> { stopsByID.values }

    // MARK: - Days

    /// Whether a trip starts on a service date.
    public func isActive(_ trip: Trip, on date: ServiceDate) -> Bool {
        calendars[trip.serviceID]?.isActive(on: date) ?? false
    }

    /// The service date at an instant: the local date, or the one before until 03:00.
    public func serviceDate(at now: UnixSeconds) -> ServiceDate {
        let local = timeZone.localTime(at: now)
        let isEarly = local.secondsOfDay < Self.serviceDayStartHour * 3600
        return isEarly ? local.date.adding(days: -1) : local.date
    }

    /// The service date that is meant when a rider names a trip and no date.
    ///
    /// - Parameters:
    ///   - trip: The trip that is ridden.
    ///   - now: The instant.
    /// - Returns: ``serviceDate(at:)`` if the trip runs then; else the local date if it runs then, as
    ///   a trip at 00:30 of its own calendar day does; else ``serviceDate(at:)``.
    public func defaultStartDate(for trip: Trip, at now: UnixSeconds) -> ServiceDate {
        let service = serviceDate(at: now)
        if isActive(trip, on: service) { return service }
        let today = timeZone.localTime(at: now).date
        return isActive(trip, on: today) ? today : service
    }

    /// The instant from which a service date's times count.
    public func startOfService(on date: ServiceDate) -> UnixSeconds {
        timeZone.startOfService(on: date)
    }
}
