internal import Telemetry
internal import Transit

// The protobuf JSON mapping: lowerCamelCase names, 64-bit integers as strings, enumerations by name,
// absent fields absent, floats as the shortest text that reads back the same.

extension FeedMessage {
    /// The feed as JSON in UTF-8, by the protobuf JSON mapping.
    public func json() -> [UInt8] {
        var json = JSONWriter(capacity: 128 + entities.count * 400)
        json.object { json in
            json.key("header")
            header.write(to: &json)
            if !entities.isEmpty {
                json.key("entity")
                json.array(entities) { $0.write(to: &$1) }
            }
        }
        return json.bytes
    }

    /// The feed as a GeoJSON FeatureCollection (RFC 7946) in UTF-8.
    ///
    /// Each entity is a feature whose properties are what ``json()`` says of it; one without a
    /// position has no geometry. The header is a foreign member.
    public func geoJSON() -> [UInt8] {
        var json = JSONWriter(capacity: 128 + entities.count * 500)
        json.object { json in
            json.field("type", "FeatureCollection")
            json.key("header")
            header.write(to: &json)
            json.key("features")
            json.array(entities) { entity, json in entity.writeFeature(to: &json) }
        }
        return json.bytes
    }
}

extension FeedEntity {
    /// The entity alone as JSON in UTF-8, by the protobuf JSON mapping.
    public func json() -> [UInt8] {
        var json = JSONWriter(capacity: 500)
        write(to: &json)
        return json.bytes
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("id", id)
            json.field("isDeleted", isDeleted)
            if let tripUpdate {
                json.key("tripUpdate")
                tripUpdate.write(to: &json)
            }
            if let vehicle {
                json.key("vehicle")
                vehicle.write(to: &json)
            }
        }
    }

    fileprivate func writeFeature(to json: inout JSONWriter) {
        json.object { json in
            json.field("type", "Feature")
            json.field("id", id)
            json.key("geometry")
            if let position = vehicle?.position, position.latitude.isFinite,
                position.longitude.isFinite
            {
                json.object { json in
                    json.field("type", "Point")
                    json.key("coordinates")
                    json.array([position.longitude, position.latitude]) { $1.number($0) }
                }
            } else {
                json.null()
            }
            json.key("properties")
            write(to: &json)
        }
    }
}

extension FeedHeader {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("gtfsRealtimeVersion", gtfsRealtimeVersion)
            json.field("incrementality", incrementality?.name)
            json.field("timestamp", timestamp)
        }
    }
}

extension VehiclePosition {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            if let trip {
                json.key("trip")
                trip.write(to: &json)
            }
            if let position {
                json.key("position")
                position.write(to: &json)
            }
            json.field("currentStopSequence", currentStopSequence)
            json.field("currentStatus", currentStatus?.name)
            json.field("timestamp", timestamp)
            json.field("congestionLevel", congestionLevel?.name)
            json.field("stopId", stopID?.rawValue)
            if let vehicle {
                json.key("vehicle")
                vehicle.write(to: &json)
            }
            json.field("occupancyStatus", occupancyStatus?.name)
            json.field("occupancyPercentage", occupancyPercentage)
        }
    }
}

extension Position {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("latitude", latitude)
            json.field("longitude", longitude)
            json.field("bearing", bearing)
            json.field("odometer", odometer)
            json.field("speed", speed)
        }
    }
}

extension TripDescriptor {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("tripId", tripID?.rawValue)
            json.field("startTime", startTime)
            json.field("startDate", startDate)
            json.field("scheduleRelationship", scheduleRelationship?.name)
            json.field("routeId", routeID?.rawValue)
            json.field("directionId", directionID)
        }
    }
}

extension VehicleDescriptor {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("id", id?.rawValue)
            json.field("label", label)
            json.field("licensePlate", licensePlate)
        }
    }
}

extension TripUpdate {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.key("trip")
            trip.write(to: &json)
            if !stopTimeUpdates.isEmpty {
                json.key("stopTimeUpdate")
                json.array(stopTimeUpdates) { $0.write(to: &$1) }
            }
            if let vehicle {
                json.key("vehicle")
                vehicle.write(to: &json)
            }
            json.field("timestamp", timestamp)
            json.field("delay", delay)
        }
    }
}

extension StopTimeUpdate {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("stopSequence", stopSequence)
            if let arrival {
                json.key("arrival")
                arrival.write(to: &json)
            }
            if let departure {
                json.key("departure")
                departure.write(to: &json)
            }
            json.field("stopId", stopID?.rawValue)
            json.field("scheduleRelationship", scheduleRelationship?.name)
        }
    }
}

extension StopTimeEvent {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("delay", delay)
            json.field("time", time)
            json.field("uncertainty", uncertainty)
        }
    }
}
