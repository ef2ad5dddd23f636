internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension RideRequest: WireMessage {
    /// The protobuf bytes of this request.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        let message = arena.message(alongside__ride_request__init) { message in
            message.header = arena.header(trace)
            (message.has_request_id, message.request_id) = (1, arena.id(requestID))
            write(into: &message, arena)
        }
        return arena.pack(message)
    }

    /// Reads a request.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__ride_request__unpack) {
            message throws(MessageError) in
            RideRequest(
                requestID: try uniqueID(message.has_request_id, message.request_id, "request_id"),
                trace: Messages.trace(message.header),
                body: try Body(message)
            )
        }
    }

    private func write(into message: inout Alongside__RideRequest, _ arena: WireArena) {
        switch body {
        case .start(let start):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_START
            message.start = start.wire(arena)
        case .positions(let positions):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_POSITIONS
            message.positions = positions.wire(arena)
        case .end(let end):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_END
            message.end = end.wire(arena)
        case .tripStatus(let query):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_TRIP_STATUS
            message.trip_status = query.wire(arena)
        case .supersede(let supersede):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_SUPERSEDE
            message.supersede = supersede.wire(arena)
        case .rides(let query):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_RIDES
            message.rides = arena.message(alongside__ride_list_query__init) { wire in
                (wire.has_ended, wire.ended) = (1, query.status == .ended ? 1 : 0)
                (wire.has_limit, wire.limit) = (1, UInt32(wire: query.limit))
                (wire.has_offset, wire.offset) = (1, UInt32(wire: query.offset))
            }
        case .status(let query):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_STATUS
            message.status = arena.message(alongside__verifier_status_query__init) { wire in
                (wire.has_received_at, wire.received_at) = (1, query.receivedAt)
            }
        case .eraseRider(let erase):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_ERASE_RIDER
            message.erase_rider = arena.message(alongside__erase_rider__init) { wire in
                (wire.has_rider_id, wire.rider_id) = (1, arena.id(erase.riderID))
                (wire.has_received_at, wire.received_at) = (1, erase.receivedAt)
                if let successor = erase.successorID {
                    (wire.has_successor_id, wire.successor_id) = (1, arena.id(successor))
                }
                (wire.has_forgotten_until, wire.forgotten_until) = (1, erase.forgottenUntil)
                (wire.has_forwarded, wire.forwarded) = (1, erase.isForwarded ? 1 : 0)
            }
        case .exportRider(let export):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_EXPORT_RIDER
            message.export_rider = arena.message(alongside__export_rider__init) { wire in
                (wire.has_rider_id, wire.rider_id) = (1, arena.id(export.riderID))
                (wire.has_received_at, wire.received_at) = (1, export.receivedAt)
                (wire.has_page, wire.page) = (1, UInt32(wire: export.page))
            }
        case .ride(let query):
            message.body_case = ALONGSIDE__RIDE_REQUEST__BODY_RIDE
            message.ride = arena.message(alongside__ride_detail_query__init) { wire in
                (wire.has_ride_id, wire.ride_id) = (1, arena.id(query.rideID))
            }
        }
    }
}

extension RideRequest.Body {
    fileprivate init(_ message: Alongside__RideRequest) throws(MessageError) {
        switch message.body_case {
        case ALONGSIDE__RIDE_REQUEST__BODY_START:
            self = .start(try StartRide(pointee(message.start, "start")))
        case ALONGSIDE__RIDE_REQUEST__BODY_POSITIONS:
            self = .positions(try ReportPositions(pointee(message.positions, "positions")))
        case ALONGSIDE__RIDE_REQUEST__BODY_END:
            let wire = try pointee(message.end, "end")
            self = .end(
                EndRide(
                    rideID: try uniqueID(wire.has_ride_id, wire.ride_id, "ride_id"),
                    riderID: try uniqueID(wire.has_rider_id, wire.rider_id, "rider_id"),
                    reason: wire.reason.text,
                    receivedAt: wire.received_at
                )
            )
        case ALONGSIDE__RIDE_REQUEST__BODY_TRIP_STATUS:
            let wire = try pointee(message.trip_status, "trip_status")
            self = .tripStatus(
                TripStatusQuery(
                    tripID: try tripID(wire.has_trip_id, wire.trip_id),
                    startDate: try serviceDate(
                        wire.has_start_date,
                        wire.start_date,
                        "start_date"
                    ),
                    receivedAt: wire.received_at
                )
            )
        case ALONGSIDE__RIDE_REQUEST__BODY_SUPERSEDE:
            let wire = try pointee(message.supersede, "supersede")
            self = .supersede(
                SupersedeRide(
                    rideID: try uniqueID(wire.has_ride_id, wire.ride_id, "ride_id"),
                    riderID: try uniqueID(wire.has_rider_id, wire.rider_id, "rider_id"),
                    receivedAt: wire.received_at
                )
            )
        case ALONGSIDE__RIDE_REQUEST__BODY_RIDES:
            let wire = try pointee(message.rides, "rides")
            self = .rides(
                RideListQuery(
                    status: wire.ended != 0 ? .ended : .active,
                    limit: Int(wire.limit),
                    offset: Int(wire.offset)
                )
            )
        case ALONGSIDE__RIDE_REQUEST__BODY_STATUS:
            let wire = try pointee(message.status, "status")
            self = .status(VerifierStatusQuery(receivedAt: wire.received_at))
        case ALONGSIDE__RIDE_REQUEST__BODY_ERASE_RIDER:
            let wire = try pointee(message.erase_rider, "erase_rider")
            self = .eraseRider(
                EraseRider(
                    riderID: try uniqueID(wire.has_rider_id, wire.rider_id, "rider_id"),
                    receivedAt: wire.received_at,
                    successorID: wire.has_successor_id != 0
                        ? try uniqueID(1, wire.successor_id, "successor_id") : nil,
                    forgottenUntil: wire.forgotten_until,
                    isForwarded: wire.forwarded != 0
                )
            )
        case ALONGSIDE__RIDE_REQUEST__BODY_EXPORT_RIDER:
            let wire = try pointee(message.export_rider, "export_rider")
            self = .exportRider(
                ExportRider(
                    riderID: try uniqueID(wire.has_rider_id, wire.rider_id, "rider_id"),
                    receivedAt: wire.received_at,
                    page: Int(wire.page)
                )
            )
        case ALONGSIDE__RIDE_REQUEST__BODY_RIDE:
            let wire = try pointee(message.ride, "ride")
            self = .ride(
                RideDetailQuery(rideID: try uniqueID(wire.has_ride_id, wire.ride_id, "ride_id"))
            )
        default: throw .unknownBody
        }
    }
}

extension StartRide {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__StartRide> {
        arena.message(alongside__start_ride__init) { wire in
            (wire.has_ride_id, wire.ride_id) = (1, arena.id(rideID))
            (wire.has_rider_id, wire.rider_id) = (1, arena.id(riderID))
            (wire.has_trip_id, wire.trip_id) = (1, arena.text(tripID))
            if let startDate {
                (wire.has_start_date, wire.start_date) = (1, Int32(startDate.daysSince1970))
            }
            if let routeID { (wire.has_route_id, wire.route_id) = (1, arena.text(routeID)) }
            (wire.has_vehicle_id, wire.vehicle_id) = (1, arena.text(vehicleID))
            (wire.has_boarding_stop_id, wire.boarding_stop_id) = (1, arena.text(boardingStopID))
            (wire.has_destination_stop_id, wire.destination_stop_id) = (
                1, arena.text(destinationStopID)
            )
            (wire.has_received_at, wire.received_at) = (1, receivedAt)
        }
    }

    fileprivate init(_ wire: Alongside__StartRide) throws(MessageError) {
        self.init(
            rideID: try uniqueID(wire.has_ride_id, wire.ride_id, "ride_id"),
            riderID: try uniqueID(wire.has_rider_id, wire.rider_id, "rider_id"),
            tripID: try Messages.tripID(wire.has_trip_id, wire.trip_id),
            startDate: try serviceDate(wire.has_start_date, wire.start_date, "start_date"),
            routeID: wire.has_route_id != 0 ? wire.route_id.id() : nil,
            vehicleID: wire.vehicle_id.text,
            boardingStopID: wire.boarding_stop_id.text,
            destinationStopID: wire.destination_stop_id.text,
            receivedAt: wire.received_at
        )
    }
}

extension ReportPositions {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__ReportPositions> {
        arena.message(alongside__report_positions__init) { wire in
            (wire.has_ride_id, wire.ride_id) = (1, arena.id(rideID))
            (wire.has_rider_id, wire.rider_id) = (1, arena.id(riderID))
            (wire.has_received_at, wire.received_at) = (1, receivedAt)
            let count = points.count
            (wire.n_latitude, wire.latitude) = (count, arena.column(points) { $0.latitude })
            (wire.n_longitude, wire.longitude) = (count, arena.column(points) { $0.longitude })
            (wire.n_timestamp, wire.timestamp) = (count, arena.column(points) { $0.timestamp })
            if points.contains(where: { $0.accuracy != nil }) {
                (wire.n_accuracy, wire.accuracy) = (
                    count, arena.column(points) { $0.accuracy ?? .nan }
                )
            }
            if points.contains(where: { $0.speed != nil }) {
                (wire.n_speed, wire.speed) = (count, arena.column(points) { $0.speed ?? .nan })
            }
            if points.contains(where: { $0.bearing != nil }) {
                (wire.n_bearing, wire.bearing) = (
                    count, arena.column(points) { $0.bearing ?? .nan }
                )
            }
        }
    }

    fileprivate init(_ wire: Alongside__ReportPositions) throws(MessageError) {
        let count = wire.n_latitude
        guard wire.n_longitude == count, wire.n_timestamp == count else {
            throw .invalidField("points")
        }
        for other in [wire.n_accuracy, wire.n_speed, wire.n_bearing]
        where other != 0 && other != count { throw .invalidField("points") }
        let latitude = UnsafeBufferPointer(start: wire.latitude, count: count)
        let longitude = UnsafeBufferPointer(start: wire.longitude, count: count)
        let timestamp = UnsafeBufferPointer(start: wire.timestamp, count: count)
        let accuracy = UnsafeBufferPointer(start: wire.accuracy, count: wire.n_accuracy)
        let speed = UnsafeBufferPointer(start: wire.speed, count: wire.n_speed)
        let bearing = UnsafeBufferPointer(start: wire.bearing, count: wire.n_bearing)
        self.init(
            rideID: try uniqueID(wire.has_ride_id, wire.ride_id, "ride_id"),
            riderID: try uniqueID(wire.has_rider_id, wire.rider_id, "rider_id"),
            points: (0..<count).map { index in
                ReportedPoint(
                    latitude: latitude[index],
                    longitude: longitude[index],
                    accuracy: optional(accuracy, index),
                    speed: optional(speed, index),
                    bearing: optional(bearing, index),
                    timestamp: timestamp[index]
                )
            },
            receivedAt: wire.received_at
        )
    }
}

/// NaN stands for a point without a value, an empty column for none with one.
private func optional(_ column: UnsafeBufferPointer<Double>, _ index: Int) -> Double? {
    guard !column.isEmpty, !column[index].isNaN else { return nil }
    return column[index]
}

extension EndRide {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__EndRide> {
        arena.message(alongside__end_ride__init) { wire in
            (wire.has_ride_id, wire.ride_id) = (1, arena.id(rideID))
            (wire.has_rider_id, wire.rider_id) = (1, arena.id(riderID))
            (wire.has_reason, wire.reason) = (1, arena.text(reason))
            (wire.has_received_at, wire.received_at) = (1, receivedAt)
        }
    }
}

extension SupersedeRide {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__SupersedeRide> {
        arena.message(alongside__supersede_ride__init) { wire in
            (wire.has_ride_id, wire.ride_id) = (1, arena.id(rideID))
            (wire.has_rider_id, wire.rider_id) = (1, arena.id(riderID))
            (wire.has_received_at, wire.received_at) = (1, receivedAt)
        }
    }
}

extension TripStatusQuery {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__TripStatusQuery> {
        arena.message(alongside__trip_status_query__init) { wire in
            (wire.has_trip_id, wire.trip_id) = (1, arena.text(tripID))
            if let startDate {
                (wire.has_start_date, wire.start_date) = (1, Int32(startDate.daysSince1970))
            }
            (wire.has_received_at, wire.received_at) = (1, receivedAt)
        }
    }
}
