internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension SlotTable: WireMessage {
    /// The protobuf bytes of this table.
    public func encoded() -> [UInt8] {
        let arena = WireArena(capacity: 512 + slots.count * 12)
        return arena.pack(
            arena.message(alongside__slot_table__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_instance, wire.instance) = (1, arena.text(instance))
                (wire.has_sequence, wire.sequence) = (1, sequence)
                (wire.n_slot, wire.slot) = (
                    slots.count, arena.column(slots) { UInt32($0.slot.rawValue) }
                )
                (wire.n_epoch, wire.epoch) = (slots.count, arena.column(slots) { $0.epoch })
            }
        )
    }

    /// Reads a table.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__slot_table__unpack) {
            wire throws(MessageError) in
            guard wire.n_slot == wire.n_epoch else { throw .invalidField("slots") }
            var slots: [Entry] = []
            for index in 0..<wire.n_slot {
                let slot = try slot(1, wire.slot[index])
                slots.append(Entry(slot: slot, epoch: wire.epoch[index]))
            }
            return SlotTable(
                trace: Messages.trace(wire.header),
                instance: wire.instance.text,
                sequence: wire.sequence,
                slots: slots
            )
        }
    }
}

extension Estimates: WireMessage {
    /// The protobuf bytes of these estimates.
    public func encoded() -> [UInt8] {
        let arena = WireArena(capacity: 512 + estimates.count * 352)
        return arena.pack(
            arena.message(alongside__estimates__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_instance, wire.instance) = (1, arena.text(instance))
                (wire.has_slot, wire.slot) = (1, UInt32(slot.rawValue))
                (wire.has_epoch, wire.epoch) = (1, epoch)
                (wire.has_sequence, wire.sequence) = (1, sequence)
                (wire.has_created_at, wire.created_at) = (1, createdAt)
                (wire.n_estimates, wire.estimates) = (
                    estimates.count, arena.messages(estimates) { $0.wire(arena) }
                )
            }
        )
    }

    /// Reads a slot's estimates.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__estimates__unpack) {
            wire throws(MessageError) in
            Estimates(
                trace: Messages.trace(wire.header),
                instance: wire.instance.text,
                slot: try Messages.slot(wire.has_slot, wire.slot),
                epoch: wire.epoch,
                sequence: wire.sequence,
                createdAt: wire.created_at,
                estimates: try values(wire.estimates, wire.n_estimates) {
                    estimate throws(MessageError) in try TripEstimate(estimate)
                }
            )
        }
    }
}

extension TripEstimate {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__TripEstimate> {
        arena.message(alongside__trip_estimate__init) { wire in
            (wire.has_trip_id, wire.trip_id) = (1, arena.text(trip.tripID))
            (wire.has_start_date, wire.start_date) = (1, Int32(trip.startDate.daysSince1970))
            (wire.has_route_id, wire.route_id) = (1, arena.text(routeID))
            (wire.has_latitude, wire.latitude) = (1, latitude)
            (wire.has_longitude, wire.longitude) = (1, longitude)
            (wire.has_bearing, wire.bearing) = (1, bearing)
            if let speed { (wire.has_speed, wire.speed) = (1, speed) }
            (wire.has_timestamp, wire.timestamp) = (1, timestamp)
            if let stopID { (wire.has_stop_id, wire.stop_id) = (1, arena.text(stopID)) }
            if let stopSequence {
                (wire.has_stop_sequence, wire.stop_sequence) = (1, UInt32(wire: stopSequence))
            }
            (wire.has_riders, wire.riders) = (1, UInt32(wire: riders))
            (wire.has_along_shape, wire.along_shape) = (1, alongShape)
            if let delaySeconds {
                (wire.has_delay_seconds, wire.delay_seconds) = (1, Int32(clamping: delaySeconds))
            }
        }
    }

    fileprivate init(_ wire: Alongside__TripEstimate) throws(MessageError) {
        self.init(
            trip: TripInstance(
                tripID: try tripID(wire.has_trip_id, wire.trip_id),
                startDate: try requiredDate(wire.has_start_date, wire.start_date, "start_date")
            ),
            routeID: wire.route_id.id(),
            latitude: wire.latitude,
            longitude: wire.longitude,
            bearing: wire.bearing,
            speed: wire.has_speed != 0 ? wire.speed : nil,
            timestamp: wire.timestamp,
            stopID: wire.has_stop_id != 0 ? wire.stop_id.id() : nil,
            stopSequence: wire.has_stop_sequence != 0 ? Int(wire.stop_sequence) : nil,
            riders: Int(wire.riders),
            alongShape: wire.along_shape,
            delaySeconds: wire.has_delay_seconds != 0 ? Int(wire.delay_seconds) : nil
        )
    }
}

extension TrustedVehicles: WireMessage {
    /// The protobuf bytes of this snapshot.
    public func encoded() -> [UInt8] {
        let arena = WireArena(capacity: 512 + vehicles.count * 224)
        return arena.pack(
            arena.message(alongside__trusted_vehicles__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_instance, wire.instance) = (1, arena.text(instance))
                (wire.has_epoch, wire.epoch) = (1, epoch)
                (wire.has_sequence, wire.sequence) = (1, sequence)
                (wire.has_created_at, wire.created_at) = (1, createdAt)
                (wire.has_configured, wire.configured) = (1, configured ? 1 : 0)
                (wire.has_complete, wire.complete) = (1, complete ? 1 : 0)
                (wire.n_vehicles, wire.vehicles) = (
                    vehicles.count, arena.messages(vehicles) { $0.wire(arena) }
                )
            }
        )
    }

    /// Reads a snapshot.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__trusted_vehicles__unpack) {
            wire throws(MessageError) in
            TrustedVehicles(
                trace: Messages.trace(wire.header),
                instance: wire.instance.text,
                epoch: wire.epoch,
                sequence: wire.sequence,
                createdAt: wire.created_at,
                configured: wire.configured != 0,
                complete: wire.complete != 0,
                vehicles: try values(wire.vehicles, wire.n_vehicles) {
                    vehicle throws(MessageError) in try TrustedVehicle(vehicle)
                }
            )
        }
    }
}

extension TrustedVehicle {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__TrustedVehicle> {
        arena.message(alongside__trusted_vehicle__init) { wire in
            (wire.has_trip_id, wire.trip_id) = (1, arena.text(tripID))
            if let startDate {
                (wire.has_start_date, wire.start_date) = (1, Int32(startDate.daysSince1970))
            }
            (wire.has_vehicle_id, wire.vehicle_id) = (1, arena.text(vehicleID))
            if let latitude { (wire.has_latitude, wire.latitude) = (1, latitude) }
            if let longitude { (wire.has_longitude, wire.longitude) = (1, longitude) }
            (wire.has_timestamp, wire.timestamp) = (1, timestamp)
            (wire.has_agency, wire.agency) = (1, source == .agency ? 1 : 0)
            if let feed { (wire.has_feed, wire.feed) = (1, UInt32(wire: feed)) }
        }
    }

    fileprivate init(_ wire: Alongside__TrustedVehicle) throws(MessageError) {
        self.init(
            tripID: try Messages.tripID(wire.has_trip_id, wire.trip_id),
            startDate: try serviceDate(wire.has_start_date, wire.start_date, "start_date"),
            vehicleID: wire.vehicle_id.id(),
            latitude: wire.has_latitude != 0 ? wire.latitude : nil,
            longitude: wire.has_longitude != 0 ? wire.longitude : nil,
            timestamp: wire.timestamp,
            source: wire.agency != 0 ? .agency : .driver,
            feed: wire.has_feed != 0 ? Int(wire.feed) : nil
        )
    }
}

extension BuiltFeed: WireMessage {
    /// The protobuf bytes of this feed.
    public func encoded() -> [UInt8] {
        let arena = WireArena(capacity: 512 + variants.reduce(0) { $0 + $1.bytes.count + 128 })
        return arena.pack(
            arena.message(alongside__built_feed__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_instance, wire.instance) = (1, arena.text(instance))
                (wire.has_epoch, wire.epoch) = (1, epoch)
                (wire.has_tick, wire.tick) = (1, tick)
                (wire.has_header_timestamp, wire.header_timestamp) = (1, headerTimestamp)
                let messages = arena.messages(variants) { variant in
                    arena.message(alongside__built_feed__variant__init) { wire in
                        (wire.has_kind, wire.kind) = (1, arena.text(variant.kind))
                        let body = variant.bytes.withUnsafeBufferPointer { arena.bytes($0) }
                        (wire.has_body, wire.body) = (1, body)
                        if let feed = variant.feed {
                            (wire.has_feed, wire.feed) = (1, UInt32(wire: feed))
                        }
                    }
                }
                (wire.n_variants, wire.variants) = (variants.count, messages)
            }
        )
    }

    /// Reads a feed.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__built_feed__unpack) {
            wire throws(MessageError) in
            BuiltFeed(
                trace: Messages.trace(wire.header),
                instance: wire.instance.text,
                epoch: wire.epoch,
                tick: wire.tick,
                headerTimestamp: wire.header_timestamp,
                variants: try values(wire.variants, wire.n_variants) {
                    Variant(
                        kind: $0.kind.text,
                        feed: $0.has_feed != 0 ? Int($0.feed) : nil,
                        bytes: Array($0.body.bytes)
                    )
                }
            )
        }
    }
}

extension ScheduleAnnouncement: WireMessage {
    /// The protobuf bytes of this announcement.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__schedule_announcement__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_instance, wire.instance) = (1, arena.text(instance))
                (wire.has_epoch, wire.epoch) = (1, epoch)
                let hash = contentHash.withUnsafeBufferPointer { arena.bytes($0) }
                (wire.has_content_hash, wire.content_hash) = (1, hash)
                (wire.has_source, wire.source) = (1, arena.text(source))
                (wire.has_activated_at, wire.activated_at) = (1, activatedAt)
                (wire.has_archive_bytes, wire.archive_bytes) = (1, UInt64(clamping: archiveBytes))
            }
        )
    }

    /// Reads an announcement.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__schedule_announcement__unpack) {
            wire throws(MessageError) in
            guard wire.has_content_hash != 0, wire.content_hash.len > 0 else {
                throw .missingField("content_hash")
            }
            return ScheduleAnnouncement(
                trace: Messages.trace(wire.header),
                instance: wire.instance.text,
                epoch: wire.epoch,
                contentHash: Array(wire.content_hash.bytes),
                source: wire.source.text,
                activatedAt: wire.activated_at,
                archiveBytes: Int(clamping: wire.archive_bytes)
            )
        }
    }
}

extension Revocations: WireMessage {
    /// The protobuf bytes of this list.
    public func encoded() -> [UInt8] {
        let arena = WireArena(capacity: 512 + entries.count * 128)
        return arena.pack(
            arena.message(alongside__revocations__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_sequence, wire.sequence) = (1, sequence)
                (wire.n_entries, wire.entries) = (
                    entries.count, arena.messages(entries) { $0.wire(arena) }
                )
            }
        )
    }

    /// Reads a list.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__revocations__unpack) {
            wire throws(MessageError) in
            Revocations(
                trace: Messages.trace(wire.header),
                sequence: wire.sequence,
                entries: try values(wire.entries, wire.n_entries) {
                    entry throws(MessageError) in try Entry(entry)
                }
            )
        }
    }
}

extension Revocations.Entry {
    fileprivate func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__Revocations__Entry> {
        arena.message(alongside__revocations__entry__init) { wire in
            switch target {
            case .token(let id):
                wire.target_case = ALONGSIDE__REVOCATIONS__ENTRY__TARGET_TOKEN
                wire.token = arena.text(id)
            case .subject(let subject):
                wire.target_case = ALONGSIDE__REVOCATIONS__ENTRY__TARGET_SUBJECT
                wire.subject = arena.text(subject)
            }
            (wire.has_revoked_at, wire.revoked_at) = (1, revokedAt)
            (wire.has_expires_at, wire.expires_at) = (1, expiresAt)
        }
    }

    fileprivate init(_ wire: Alongside__Revocations__Entry) throws(MessageError) {
        let target: Target
        switch wire.target_case {
        case ALONGSIDE__REVOCATIONS__ENTRY__TARGET_TOKEN: target = .token(wire.token.text)
        case ALONGSIDE__REVOCATIONS__ENTRY__TARGET_SUBJECT: target = .subject(wire.subject.text)
        // What a newer release revokes must not pass for nothing: the reader asks the rows.
        default: throw .invalidField("target")
        }
        self.init(target: target, revokedAt: wire.revoked_at, expiresAt: wire.expires_at)
    }
}
