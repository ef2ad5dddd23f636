internal import Transit
internal import Web

/// The bodies of the catalogue (spec 1.12).
enum CatalogueJSON {
    /// Writes a route's names and colours as members.
    static func writeNames(of route: Route?, to json: inout JSONWriter) {
        json.member("short_name", route?.shortName ?? "")
        json.member("long_name", route?.longName ?? "")
        json.member("color", route?.color ?? "")
        json.member("text_color", route?.textColor ?? "")
    }

    /// The trips of a route on a date, by first departure and id.
    static func trips(
        _ trips: [Trip],
        of routeID: RouteID,
        on date: ServiceDate,
        in index: ScheduleIndex
    ) -> [UInt8] {
        let sorted = trips.sorted { left, right in
            let leftStart = left.stopTimes[0].departure
            let rightStart = right.stopTimes[0].departure
            return leftStart == rightStart ? left.id < right.id : leftStart < rightStart
        }
        var json = JSONWriter(capacity: 128 + 240 * sorted.count)
        json.beginObject()
        json.member("route_id", routeID.rawValue)
        json.member("service_date", date.description)
        json.member("timezone", index.timeZone.name)
        json.key("trips")
        json.beginArray()
        for trip in sorted {
            json.beginObject()
            writeOverview(of: trip, on: date, in: index, to: &json)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    /// One trip with its path and stops.
    static func trip(
        _ trip: Trip,
        on date: ServiceDate,
        in index: ScheduleIndex,
        _ thresholds: CatalogueEndpoints.Thresholds
    ) -> [UInt8] {
        var json = JSONWriter(
            capacity: 1024 + 200 * trip.stopTimes.count + 40 * trip.shape.points.count
        )
        json.beginObject()
        writeOverview(of: trip, on: date, in: index, to: &json)
        json.member("route_id", trip.routeID.rawValue)
        json.member("service_date", date.description)
        json.member("timezone", index.timeZone.name)
        json.key("route")
        json.beginObject()
        writeNames(of: index.route(trip.routeID), to: &json)
        json.endObject()
        writeShape(of: trip, to: &json)
        writeStops(of: trip, on: date, in: index, to: &json)
        json.key("thresholds")
        json.beginObject()
        json.member("max_shape_distance_m", thresholds.shapeDistance)
        json.member("schedule_early_s", thresholds.scheduleEarly)
        json.member("schedule_late_s", thresholds.scheduleLate)
        json.endObject()
        json.endObject()
        return json.bytes
    }

    private static func writeOverview(
        of trip: Trip,
        on date: ServiceDate,
        in index: ScheduleIndex,
        to json: inout JSONWriter
    ) {
        let first = trip.stopTimes[0]
        let last = trip.stopTimes[trip.stopTimes.count - 1]
        json.member("id", trip.id.rawValue)
        json.member("headsign", trip.headsign)
        json.member("direction_id", trip.directionID)
        json.member("starts_at", time(first.departure, on: date, in: index))
        json.member("ends_at", time(last.arrival, on: date, in: index))
        json.member("first_stop", index.stop(first.stopID)?.name ?? "")
        json.member("last_stop", index.stop(last.stopID)?.name ?? "")
    }

    private static func writeShape(of trip: Trip, to json: inout JSONWriter) {
        json.key("shape")
        json.beginObject()
        json.member("length_m", trip.shape.length)
        json.key("points")
        json.beginArray()
        for point in trip.shape.points {
            json.beginArray()
            json.value(point.latitude)
            json.value(point.longitude)
            json.endArray()
        }
        json.endArray()
        json.endObject()
    }

    private static func writeStops(
        of trip: Trip,
        on date: ServiceDate,
        in index: ScheduleIndex,
        to json: inout JSONWriter
    ) {
        json.key("stops")
        json.beginArray()
        for stop in trip.stopTimes {
            json.beginObject()
            json.member("id", stop.stopID.rawValue)
            json.member("name", index.stop(stop.stopID)?.name ?? "")
            json.member("sequence", stop.stopSequence)
            json.member("lat", stop.coordinate.latitude)
            json.member("lon", stop.coordinate.longitude)
            json.member("along_shape_m", stop.alongShape)
            json.member("arrival_at", time(stop.arrival, on: date, in: index))
            json.member("departure_at", time(stop.departure, on: date, in: index))
            json.endObject()
        }
        json.endArray()
    }

    /// A time of the schedule as an instant; times past midnight fall on the next day.
    private static func time(
        _ offset: Int,
        on date: ServiceDate,
        in index: ScheduleIndex
    ) -> String {
        LocalTimestamp.text(index.startOfService(on: date) + Int64(offset), in: index.timeZone)
    }
}
