internal import Messages
internal import Telemetry
internal import Transit
internal import Web

/// What all verifiers together say about themselves.
struct FleetStatus {
    /// Those that answered, in the order of their names.
    let verifiers: [VerifierStatusReply]
    /// Those that did not answer in time.
    let silent: [String]

    /// Gathers answers.
    init(_ answers: [String: RideReply.Body?]) {
        var verifiers: [VerifierStatusReply] = []
        var silent: [String] = []
        for (instance, answer) in answers {
            if case .status(let status) = answer {
                verifiers.append(status)
            } else {
                silent.append(instance)
            }
        }
        self.verifiers = verifiers.sorted { $0.instance < $1.instance }
        self.silent = silent.sorted()
    }

    /// The document of seed 4.10, with who owns how much beside it.
    func json(agencies: [AgencyFeeds.Feed]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("enabled", true)
        json.key("gtfs")
        if let schedule = verifiers.lazy.compactMap(\.schedule).first {
            json.value(schedule)
        } else {
            json.null()
        }
        if !agencies.isEmpty { json.value(agencies) }
        json.key("riders")
        json.beginObject()
        // Each read the same tables; the largest is the latest.
        json.member("total", verifiers.map(\.riders).max())
        json.member("trusted", verifiers.map(\.trustedRiders).max())
        json.member("blocked", verifiers.map(\.blockedRiders).max())
        json.endObject()
        json.key("rides")
        json.beginObject()
        json.member("active", verifiers.reduce(0) { $0 + $1.activeRides })
        json.member("publishable", verifiers.reduce(0) { $0 + $1.publishableTrips })
        json.endObject()
        json.key("verifiers")
        json.beginArray()
        for verifier in verifiers {
            json.beginObject()
            json.member("instance", verifier.instance)
            json.member("answered", true)
            json.member("slots", verifier.ownedSlots)
            json.member("active", verifier.activeRides)
            json.member("publishable", verifier.publishableTrips)
            json.endObject()
        }
        for instance in silent {
            json.beginObject()
            json.member("instance", instance)
            json.member("answered", false)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ schedule: VerifierStatusReply.Schedule) {
        beginObject()
        member("source", schedule.source)
        member("loaded_at", Timestamps.text(ofSeconds: schedule.loadedAt))
        member("trips", schedule.trips)
        member("shapes", schedule.shapes)
        member("timezone", schedule.timeZone)
        endObject()
    }

    fileprivate mutating func value(_ feeds: [AgencyFeeds.Feed]) {
        key("trusted_feeds")
        beginArray()
        for feed in feeds {
            beginObject()
            member("url", feed.url)
            member("last_success", feed.lastSuccess.map(Timestamps.text(ofSeconds:)) ?? "")
            member("last_error", feed.lastError)
            member("entities", feed.entities)
            endObject()
        }
        endArray()
    }

    /// The members of a ride, without the braces.
    fileprivate mutating func members(of ride: RideListEntry) {
        member("id", ride.rideID.description)
        member("rider_id", ride.riderID.description)
        member("trip_id", ride.trip.tripID.rawValue)
        member("start_date", ride.trip.startDate.description)
        member("route_id", ride.routeID.rawValue)
        member("state", ride.state)
        member("corroborated", ride.corroborated)
        member("status", ride.endedAt == nil ? "active" : "ended")
        member("end_reason", ride.endReason)
        member("points_total", ride.points)
        member("points_matched", ride.matchedPoints)
        member("points_corroborated", ride.corroboratedPoints)
        member("started_at", Timestamps.text(ofSeconds: ride.startedAt))
        member("ended_at", ride.endedAt.map(Timestamps.text(ofSeconds:)))
    }

    fileprivate mutating func value(_ point: ExplainedPoint) {
        beginObject()
        member("timestamp", point.point.timestamp)
        member("latitude", point.point.latitude)
        member("longitude", point.point.longitude)
        member("accuracy", point.point.accuracy)
        member("speed", point.point.speed)
        member("bearing", point.point.bearing)
        member("outcome", point.outcome)
        member("corroboration", point.corroboration)
        member("rule", point.rule)
        member("measured", point.measured)
        member("threshold", point.threshold)
        member("unit", point.unit)
        member("explanation", point.explanation)
        member("along_shape", point.alongShape)
        member("distance_to_shape", point.distanceToShape)
        member("schedule_deviation_seconds", point.scheduleDeviationSeconds)
        member("received_at", Timestamps.text(ofSeconds: point.receivedAt))
        endObject()
    }
}

extension RideListReply {
    /// The page as the admin gets it.
    var response: HTTPResponse {
        var json = JSONWriter(capacity: 64 + 512 * rides.count)
        json.beginObject()
        json.member("count", rides.count)
        json.member("has_more", hasMore)
        json.key("rides")
        json.beginArray()
        for ride in rides {
            json.beginObject()
            json.members(of: ride)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }
}

extension RideDetailReply {
    /// The ride as the admin gets it.
    var response: HTTPResponse {
        var json = JSONWriter(capacity: 1024 + 512 * points.count)
        json.beginObject()
        json.members(of: ride)
        json.member("vehicle_id", vehicleID)
        json.member("boarding_stop_id", boardingStopID)
        json.member("destination_stop_id", destinationStopID)
        json.key("changes")
        json.beginArray()
        for change in changes {
            json.beginObject()
            json.member("state", change.state)
            json.member("at", Timestamps.text(ofSeconds: change.at))
            json.endObject()
        }
        json.endArray()
        json.key("points")
        json.beginArray()
        for point in points { json.value(point) }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }
}
