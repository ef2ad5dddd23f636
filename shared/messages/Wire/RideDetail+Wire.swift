internal import CAlongsideMessages
internal import CProtobufC
internal import Transit

extension RideDetailReply {
    func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__RideDetailReply> {
        arena.message(alongside__ride_detail_reply__init) { wire in
            wire.ride = ride.wire(arena)
            (wire.has_vehicle_id, wire.vehicle_id) = (1, arena.text(vehicleID))
            (wire.has_boarding_stop_id, wire.boarding_stop_id) = (1, arena.text(boardingStopID))
            (wire.has_destination_stop_id, wire.destination_stop_id) = (
                1, arena.text(destinationStopID)
            )
            (wire.n_changes, wire.changes) = (
                changes.count, arena.messages(changes) { $0.wire(arena) }
            )
            (wire.n_points, wire.points) = (
                points.count, arena.messages(points) { $0.wire(arena) }
            )
        }
    }

    init(_ wire: Alongside__RideDetailReply) throws(MessageError) {
        self.init(
            ride: try RideListEntry(pointee(wire.ride, "ride")),
            vehicleID: wire.vehicle_id.text,
            boardingStopID: wire.boarding_stop_id.text,
            destinationStopID: wire.destination_stop_id.text,
            changes: try values(wire.changes, wire.n_changes) { RideStateChange($0) },
            points: try values(wire.points, wire.n_points) { ExplainedPoint($0) }
        )
    }
}

extension RideStateChange {
    fileprivate func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__RideDetailReply__Change> {
        arena.message(alongside__ride_detail_reply__change__init) { wire in
            (wire.has_state, wire.state) = (1, arena.text(state))
            (wire.has_at, wire.at) = (1, at)
        }
    }

    fileprivate init(_ wire: Alongside__RideDetailReply__Change) {
        self.init(state: wire.state.text, at: wire.at)
    }
}

extension ExplainedPoint {
    fileprivate func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__RideDetailReply__Point> {
        arena.message(alongside__ride_detail_reply__point__init) { wire in
            (wire.has_timestamp, wire.timestamp) = (1, point.timestamp)
            (wire.has_latitude, wire.latitude) = (1, point.latitude)
            (wire.has_longitude, wire.longitude) = (1, point.longitude)
            if let accuracy = point.accuracy { (wire.has_accuracy, wire.accuracy) = (1, accuracy) }
            if let speed = point.speed { (wire.has_speed, wire.speed) = (1, speed) }
            if let bearing = point.bearing { (wire.has_bearing, wire.bearing) = (1, bearing) }
            (wire.has_outcome, wire.outcome) = (1, arena.text(outcome))
            (wire.has_corroboration, wire.corroboration) = (1, arena.text(corroboration))
            if let rule { (wire.has_rule, wire.rule) = (1, arena.text(rule)) }
            if let measured { (wire.has_measured, wire.measured) = (1, measured) }
            if let threshold { (wire.has_threshold, wire.threshold) = (1, threshold) }
            if let unit { (wire.has_unit, wire.unit) = (1, arena.text(unit)) }
            (wire.has_explanation, wire.explanation) = (1, arena.text(explanation))
            if let alongShape { (wire.has_along_shape, wire.along_shape) = (1, alongShape) }
            if let distanceToShape {
                (wire.has_distance_to_shape, wire.distance_to_shape) = (1, distanceToShape)
            }
            if let scheduleDeviationSeconds {
                (wire.has_schedule_deviation_seconds, wire.schedule_deviation_seconds) = (
                    1, Int64(scheduleDeviationSeconds)
                )
            }
            (wire.has_received_at, wire.received_at) = (1, receivedAt)
        }
    }

    fileprivate init(_ wire: Alongside__RideDetailReply__Point) {
        self.init(
            point: ReportedPoint(
                latitude: wire.latitude,
                longitude: wire.longitude,
                accuracy: wire.has_accuracy != 0 ? wire.accuracy : nil,
                speed: wire.has_speed != 0 ? wire.speed : nil,
                bearing: wire.has_bearing != 0 ? wire.bearing : nil,
                timestamp: wire.timestamp
            ),
            outcome: wire.outcome.text,
            corroboration: wire.corroboration.text,
            rule: wire.has_rule != 0 ? wire.rule.text : nil,
            measured: wire.has_measured != 0 ? wire.measured : nil,
            threshold: wire.has_threshold != 0 ? wire.threshold : nil,
            unit: wire.has_unit != 0 ? wire.unit.text : nil,
            explanation: wire.explanation.text,
            alongShape: wire.has_along_shape != 0 ? wire.along_shape : nil,
            distanceToShape: wire.has_distance_to_shape != 0 ? wire.distance_to_shape : nil,
            scheduleDeviationSeconds: wire.has_schedule_deviation_seconds != 0
                ? Int(wire.schedule_deviation_seconds) : nil,
            receivedAt: wire.received_at
        )
    }
}
