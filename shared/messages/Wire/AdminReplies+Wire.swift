internal import CAlongsideMessages
internal import CProtobufC
internal import Transit

extension RideListReply {
    func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__RideListReply> {
        arena.message(alongside__ride_list_reply__init) { wire in
            (wire.n_rides, wire.rides) = (rides.count, arena.messages(rides) { $0.wire(arena) })
            (wire.has_has_more, wire.has_more) = (1, hasMore ? 1 : 0)
        }
    }

    init(_ wire: Alongside__RideListReply) throws(MessageError) {
        self.init(
            rides: try values(wire.rides, wire.n_rides) { entry throws(MessageError) in
                try RideListEntry(entry)
            },
            hasMore: wire.has_more != 0
        )
    }
}

extension RideListEntry {
    func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__RideListReply__Entry> {
        arena.message(alongside__ride_list_reply__entry__init) { wire in
            (wire.has_ride_id, wire.ride_id) = (1, arena.id(rideID))
            (wire.has_rider_id, wire.rider_id) = (1, arena.id(riderID))
            (wire.has_trip_id, wire.trip_id) = (1, arena.text(trip.tripID))
            (wire.has_start_date, wire.start_date) = (1, Int32(trip.startDate.daysSince1970))
            (wire.has_route_id, wire.route_id) = (1, arena.text(routeID))
            (wire.has_state, wire.state) = (1, arena.text(state))
            (wire.has_corroborated, wire.corroborated) = (1, corroborated ? 1 : 0)
            (wire.has_end_reason, wire.end_reason) = (1, arena.text(endReason))
            (wire.has_points, wire.points) = (1, UInt32(wire: points))
            (wire.has_matched_points, wire.matched_points) = (1, UInt32(wire: matchedPoints))
            (wire.has_corroborated_points, wire.corroborated_points) = (
                1, UInt32(wire: corroboratedPoints)
            )
            (wire.has_started_at, wire.started_at) = (1, startedAt)
            if let endedAt { (wire.has_ended_at, wire.ended_at) = (1, endedAt) }
        }
    }

    init(_ wire: Alongside__RideListReply__Entry) throws(MessageError) {
        self.init(
            rideID: try uniqueID(wire.has_ride_id, wire.ride_id, "ride_id"),
            riderID: try uniqueID(wire.has_rider_id, wire.rider_id, "rider_id"),
            trip: TripInstance(
                tripID: try tripID(wire.has_trip_id, wire.trip_id),
                startDate: try requiredDate(wire.has_start_date, wire.start_date, "start_date")
            ),
            routeID: wire.route_id.id(),
            state: wire.state.text,
            corroborated: wire.corroborated != 0,
            endReason: wire.end_reason.text,
            points: Int(wire.points),
            matchedPoints: Int(wire.matched_points),
            corroboratedPoints: Int(wire.corroborated_points),
            startedAt: wire.started_at,
            endedAt: wire.has_ended_at != 0 ? wire.ended_at : nil
        )
    }
}

extension VerifierStatusReply {
    func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__VerifierStatusReply> {
        arena.message(alongside__verifier_status_reply__init) { wire in
            (wire.has_instance, wire.instance) = (1, arena.text(instance))
            if let schedule { wire.schedule = schedule.wire(arena) }
            (wire.has_owned_slots, wire.owned_slots) = (1, UInt32(wire: ownedSlots))
            (wire.has_active_rides, wire.active_rides) = (1, UInt32(wire: activeRides))
            (wire.has_publishable_trips, wire.publishable_trips) = (
                1, UInt32(wire: publishableTrips)
            )
            (wire.has_riders, wire.riders) = (1, UInt64(clamping: riders))
            (wire.has_trusted_riders, wire.trusted_riders) = (1, UInt64(clamping: trustedRiders))
            (wire.has_blocked_riders, wire.blocked_riders) = (1, UInt64(clamping: blockedRiders))
        }
    }

    init(_ wire: Alongside__VerifierStatusReply) {
        self.init(
            instance: wire.instance.text,
            schedule: wire.schedule.map { Schedule($0.pointee) },
            ownedSlots: Int(wire.owned_slots),
            activeRides: Int(wire.active_rides),
            publishableTrips: Int(wire.publishable_trips),
            riders: Int(clamping: wire.riders),
            trustedRiders: Int(clamping: wire.trusted_riders),
            blockedRiders: Int(clamping: wire.blocked_riders)
        )
    }
}

extension VerifierStatusReply.Schedule {
    fileprivate func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__VerifierStatusReply__Schedule> {
        arena.message(alongside__verifier_status_reply__schedule__init) { wire in
            (wire.has_source, wire.source) = (1, arena.text(source))
            (wire.has_content_hash, wire.content_hash) = (1, arena.text(contentHash))
            (wire.has_loaded_at, wire.loaded_at) = (1, loadedAt)
            (wire.has_trips, wire.trips) = (1, UInt32(wire: trips))
            (wire.has_shapes, wire.shapes) = (1, UInt32(wire: shapes))
            (wire.has_time_zone, wire.time_zone) = (1, arena.text(timeZone))
        }
    }

    fileprivate init(_ wire: Alongside__VerifierStatusReply__Schedule) {
        self.init(
            source: wire.source.text,
            contentHash: wire.content_hash.text,
            loadedAt: wire.loaded_at,
            trips: Int(wire.trips),
            shapes: Int(wire.shapes),
            timeZone: wire.time_zone.text
        )
    }
}
