internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension RideReply: WireMessage {
    /// The protobuf bytes of this answer.
    public func encoded() -> [UInt8] {
        // The export is the one big part: it is lent, so its bytes live as long as the packing.
        if case .exported(let json) = body {
            return json.withUnsafeBufferPointer { packed(exported: $0) }
        }
        return packed(exported: UnsafeBufferPointer(start: nil, count: 0))
    }

    /// Reads an answer.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__ride_reply__unpack) {
            message throws(MessageError) in
            RideReply(
                requestID: try uniqueID(message.has_request_id, message.request_id, "request_id"),
                trace: Messages.trace(message.header),
                body: try Body(message)
            )
        }
    }

    private func packed(exported: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        let arena = WireArena()
        let message = arena.message(alongside__ride_reply__init) { message in
            message.header = arena.header(trace)
            (message.has_request_id, message.request_id) = (1, arena.id(requestID))
            write(into: &message, arena, exported)
        }
        return arena.pack(message)
    }

    private func write(
        into message: inout Alongside__RideReply,
        _ arena: WireArena,
        _ exported: UnsafeBufferPointer<UInt8>
    ) {
        switch body {
        case .started(let started):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_STARTED
            message.started = started.wire(arena)
        case .accepted(let accepted):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_ACCEPTED
            message.accepted = accepted.wire(arena)
        case .ended(let ended):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_ENDED
            message.ended = arena.message(alongside__ride_ended__init) { wire in
                (wire.has_points, wire.points) = (1, UInt32(wire: ended.points))
                (wire.has_matched, wire.matched) = (1, UInt32(wire: ended.matched))
                (wire.has_corroborated, wire.corroborated) = (1, UInt32(wire: ended.corroborated))
                (wire.has_duration_seconds, wire.duration_seconds) = (
                    1, UInt64(clamping: ended.durationSeconds)
                )
            }
        case .tripStatus(let status):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_TRIP_STATUS
            message.trip_status = status.wire(arena)
        case .rides(let list):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_RIDES
            message.rides = list.wire(arena)
        case .status(let status):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_STATUS
            message.status = status.wire(arena)
        case .erased:
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_ERASED
            message.erased = 1
        case .erasedButBlocked:
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_ERASED_BUT_BLOCKED
            message.erased_but_blocked = 1
        case .exported:
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_EXPORTED
            message.exported = arena.borrowed(exported)
        case .conflict(let rideID):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_CONFLICT
            message.conflict = arena.id(rideID)
        case .refused(let refusal):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_REFUSED
            message.refused = refusal.wire(arena)
        case .ride(let ride):
            message.body_case = ALONGSIDE__RIDE_REPLY__BODY_RIDE
            message.ride = ride.wire(arena)
        }
    }
}

extension RideReply.Body {
    fileprivate init(_ message: Alongside__RideReply) throws(MessageError) {
        switch message.body_case {
        case ALONGSIDE__RIDE_REPLY__BODY_STARTED:
            self = .started(try RideStarted(pointee(message.started, "started")))
        case ALONGSIDE__RIDE_REPLY__BODY_ACCEPTED:
            self = .accepted(BatchAccepted(try pointee(message.accepted, "accepted")))
        case ALONGSIDE__RIDE_REPLY__BODY_ENDED:
            let wire = try pointee(message.ended, "ended")
            self = .ended(
                RideEnded(
                    points: Int(wire.points),
                    matched: Int(wire.matched),
                    corroborated: Int(wire.corroborated),
                    durationSeconds: Int(clamping: wire.duration_seconds)
                )
            )
        case ALONGSIDE__RIDE_REPLY__BODY_TRIP_STATUS:
            self = .tripStatus(try TripStatusReply(pointee(message.trip_status, "trip_status")))
        case ALONGSIDE__RIDE_REPLY__BODY_RIDES:
            self = .rides(try RideListReply(pointee(message.rides, "rides")))
        case ALONGSIDE__RIDE_REPLY__BODY_STATUS:
            self = .status(VerifierStatusReply(try pointee(message.status, "status")))
        case ALONGSIDE__RIDE_REPLY__BODY_ERASED:
            guard message.erased != 0 else { throw .invalidField("erased") }
            self = .erased
        case ALONGSIDE__RIDE_REPLY__BODY_ERASED_BUT_BLOCKED:
            guard message.erased_but_blocked != 0 else {
                throw .invalidField("erased_but_blocked")
            }
            self = .erasedButBlocked
        case ALONGSIDE__RIDE_REPLY__BODY_EXPORTED:
            self = .exported(Array(message.exported.bytes))
        case ALONGSIDE__RIDE_REPLY__BODY_CONFLICT:
            self = .conflict(rideID: try uniqueID(1, message.conflict, "conflict"))
        case ALONGSIDE__RIDE_REPLY__BODY_REFUSED:
            self = .refused(RideRefusal(try pointee(message.refused, "refused")))
        case ALONGSIDE__RIDE_REPLY__BODY_RIDE:
            self = .ride(try RideDetailReply(pointee(message.ride, "ride")))
        default: throw .unknownBody
        }
    }
}

extension RideStarted {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__RideStarted> {
        arena.message(alongside__ride_started__init) { wire in
            (wire.has_state, wire.state) = (1, arena.text(state))
            (wire.has_start_date, wire.start_date) = (1, Int32(startDate.daysSince1970))
            (wire.has_route_id, wire.route_id) = (1, arena.text(routeID))
            guard let destination else { return }
            wire.destination = arena.message(alongside__ride_started__destination__init) { wire in
                (wire.has_stop_id, wire.stop_id) = (1, arena.text(destination.stopID))
                (wire.has_latitude, wire.latitude) = (1, destination.latitude)
                (wire.has_longitude, wire.longitude) = (1, destination.longitude)
            }
        }
    }

    fileprivate init(_ wire: Alongside__RideStarted) throws(MessageError) {
        self.init(
            state: wire.state.text,
            startDate: try requiredDate(wire.has_start_date, wire.start_date, "start_date"),
            routeID: wire.route_id.id(),
            destination: wire.destination.map {
                Destination(
                    stopID: $0.pointee.stop_id.id(),
                    latitude: $0.pointee.latitude,
                    longitude: $0.pointee.longitude
                )
            }
        )
    }
}

extension BatchAccepted {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__BatchAccepted> {
        arena.message(alongside__batch_accepted__init) { wire in
            (wire.has_state, wire.state) = (1, arena.text(state))
            (wire.has_published, wire.published) = (1, published ? 1 : 0)
            (wire.has_corroboration, wire.corroboration) = (1, arena.text(corroboration))
            (wire.has_accepted, wire.accepted) = (1, UInt32(wire: accepted))
            (wire.has_ignored, wire.ignored) = (1, UInt32(wire: ignored))
            (wire.has_off_route_streak, wire.off_route_streak) = (1, UInt32(wire: offRouteStreak))
            (wire.has_ended, wire.ended) = (1, ended ? 1 : 0)
            (wire.has_end_reason, wire.end_reason) = (1, arena.text(endReason))
        }
    }

    fileprivate init(_ wire: Alongside__BatchAccepted) {
        self.init(
            state: wire.state.text,
            published: wire.published != 0,
            corroboration: wire.corroboration.text,
            accepted: Int(wire.accepted),
            ignored: Int(wire.ignored),
            offRouteStreak: Int(wire.off_route_streak),
            ended: wire.ended != 0,
            endReason: wire.end_reason.text
        )
    }
}

extension TripStatusReply {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__TripStatusReply> {
        arena.message(alongside__trip_status_reply__init) { wire in
            (wire.has_trip_id, wire.trip_id) = (1, arena.text(tripID))
            (wire.has_start_date, wire.start_date) = (1, Int32(startDate.daysSince1970))
            (wire.has_trusted, wire.trusted) = (1, trusted ? 1 : 0)
            (wire.has_rider_reported, wire.rider_reported) = (1, riderReported ? 1 : 0)
            (wire.has_riders, wire.riders) = (1, UInt32(wire: riders))
        }
    }

    fileprivate init(_ wire: Alongside__TripStatusReply) throws(MessageError) {
        self.init(
            tripID: try Messages.tripID(wire.has_trip_id, wire.trip_id),
            startDate: try requiredDate(wire.has_start_date, wire.start_date, "start_date"),
            trusted: wire.trusted != 0,
            riderReported: wire.rider_reported != 0,
            riders: Int(wire.riders)
        )
    }
}

extension RideRefusal {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__RideRefusal> {
        arena.message(alongside__ride_refusal__init) { wire in
            (wire.has_code, wire.code) = (1, arena.text(code.rawValue))
            (wire.has_end_reason, wire.end_reason) = (1, arena.text(endReason))
            (wire.has_owner, wire.owner) = (1, arena.text(owner))
            (wire.has_retry_after_seconds, wire.retry_after_seconds) = (
                1, UInt32(wire: retryAfterSeconds)
            )
        }
    }

    fileprivate init(_ wire: Alongside__RideRefusal) {
        self.init(
            Code(rawValue: wire.code.text) ?? .failed,
            endReason: wire.end_reason.text,
            owner: wire.owner.text,
            retryAfterSeconds: Int(wire.retry_after_seconds)
        )
    }
}
