internal import CGtfsRealtime
internal import CProtobufC
internal import Transit

/// Why bytes are not a feed.
public enum FeedDecodingError: Error, Equatable, CustomStringConvertible {
    /// Longer than ``FeedMessage/maximumBytes``.
    case tooLong(bytes: Int)
    /// More of something than ``FeedLimits`` allows.
    case tooMany(_ what: String, limit: Int)
    /// Not protobuf, cut off, without a required field, or needing more memory than its length
    /// justifies.
    case malformed

    /// A sentence for logs and health.
    public var description: String {
        switch self {
        case .tooLong(let bytes):
            "the feed has \(bytes) bytes, the limit is \(FeedMessage.maximumBytes)"
        case .tooMany(let what, let limit): "the feed has more than \(limit) \(what)"
        case .malformed: "the feed is not a GTFS Realtime message"
        }
    }
}

extension FeedMessage {
    /// Bytes; the largest public feeds have some 10 MB.
    public static let maximumBytes = 32 << 20

    /// Reads a feed from its protobuf bytes, whatever they may be.
    ///
    /// Invalid UTF-8 becomes U+FFFD and NULs are dropped. Values of enumerations that this release
    /// does not know read as absent.
    ///
    /// - Parameters:
    ///   - bytes: What an agency's server sent.
    ///   - limits: How many entities are read; a feed with more is refused as a whole.
    /// - Throws: ``FeedDecodingError``; nothing was kept.
    public init(
        decoding bytes: UnsafeRawBufferPointer,
        within limits: FeedLimits = FeedLimits()
    ) throws(FeedDecodingError) {
        guard bytes.count <= Self.maximumBytes else { throw .tooLong(bytes: bytes.count) }
        try limits.check(bytes)
        // A few bytes can name thousands of empty entities. Real feeds need less than twenty times
        // their length; past this the feed is refused instead of the memory spent.
        let budget = 64 << 10 + min(bytes.count * 64, 512 << 20)
        guard let arena = alongside_arena_create(min(bytes.count * 6, 1 << 20), budget) else {
            throw .malformed
        }
        defer { alongside_arena_destroy(arena) }
        let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
        let unpacked = transit_realtime__feed_message__unpack(
            &arena.pointee.allocator,
            bytes.count,
            start
        )
        guard let message = unpacked?.pointee, let header = message.header?.pointee else {
            throw .malformed
        }
        self.header = FeedHeader(header)
        entities = []
        entities.reserveCapacity(message.n_entity)
        for index in 0..<message.n_entity {
            guard let entity = message.entity[index] else { continue }
            entities.append(FeedEntity(entity.pointee))
        }
    }

    /// Reads a feed from its protobuf bytes, whatever they may be.
    ///
    /// - Parameters:
    ///   - bytes: What an agency's server sent.
    ///   - limits: How many entities are read; a feed with more is refused as a whole.
    /// - Throws: ``FeedDecodingError``; nothing was kept.
    public init(
        decoding bytes: [UInt8],
        within limits: FeedLimits = FeedLimits()
    ) throws(FeedDecodingError) {
        let result = bytes.withUnsafeBytes { raw in
            Result { () throws(FeedDecodingError) in try Self(decoding: raw, within: limits) }
        }
        self = try result.get()
    }
}

extension ProtobufCBinaryData {
    fileprivate var text: String {
        guard let data else { return "" }
        let bytes = UnsafeBufferPointer(start: data, count: len)
        guard !bytes.contains(0) else {
            return String(decoding: bytes.filter { $0 != 0 }, as: UTF8.self)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    fileprivate func text(if present: protobuf_c_boolean) -> String? {
        present != 0 ? text : nil
    }

    fileprivate func id<Kind>(if present: protobuf_c_boolean) -> Identifier<Kind>? {
        present != 0 ? Identifier(text) : nil
    }
}

private func value<T>(_ value: T, if present: protobuf_c_boolean) -> T? {
    present != 0 ? value : nil
}

extension FeedHeader {
    fileprivate init(_ wire: TransitRealtime__FeedHeader) {
        self.init(
            gtfsRealtimeVersion: wire.gtfs_realtime_version.text,
            incrementality: value(wire.incrementality.rawValue, if: wire.has_incrementality)
                .flatMap(Incrementality.init),
            timestamp: value(wire.timestamp, if: wire.has_timestamp)
        )
    }
}

extension FeedEntity {
    fileprivate init(_ wire: TransitRealtime__FeedEntity) {
        self.init(
            id: wire.id.text,
            isDeleted: value(wire.is_deleted != 0, if: wire.has_is_deleted),
            tripUpdate: wire.trip_update.map { TripUpdate($0.pointee) },
            vehicle: wire.vehicle.map { VehiclePosition($0.pointee) }
        )
    }
}

extension VehiclePosition {
    fileprivate init(_ wire: TransitRealtime__VehiclePosition) {
        self.init(
            trip: wire.trip.map { TripDescriptor($0.pointee) },
            vehicle: wire.vehicle.map { VehicleDescriptor($0.pointee) },
            position: wire.position.map { Position($0.pointee) },
            currentStopSequence: value(
                wire.current_stop_sequence,
                if: wire.has_current_stop_sequence
            ),
            stopID: wire.stop_id.id(if: wire.has_stop_id),
            currentStatus: value(wire.current_status.rawValue, if: wire.has_current_status)
                .flatMap(VehicleStopStatus.init),
            timestamp: value(wire.timestamp, if: wire.has_timestamp),
            congestionLevel: value(wire.congestion_level.rawValue, if: wire.has_congestion_level)
                .flatMap(CongestionLevel.init),
            occupancyStatus: value(wire.occupancy_status.rawValue, if: wire.has_occupancy_status)
                .flatMap(OccupancyStatus.init),
            occupancyPercentage: value(
                wire.occupancy_percentage,
                if: wire.has_occupancy_percentage
            )
        )
    }
}

extension Position {
    fileprivate init(_ wire: TransitRealtime__Position) {
        self.init(
            latitude: wire.latitude,
            longitude: wire.longitude,
            bearing: value(wire.bearing, if: wire.has_bearing),
            odometer: value(wire.odometer, if: wire.has_odometer),
            speed: value(wire.speed, if: wire.has_speed)
        )
    }
}

extension TripDescriptor {
    fileprivate init(_ wire: TransitRealtime__TripDescriptor) {
        self.init(
            tripID: wire.trip_id.id(if: wire.has_trip_id),
            routeID: wire.route_id.id(if: wire.has_route_id),
            directionID: value(wire.direction_id, if: wire.has_direction_id),
            startTime: wire.start_time.text(if: wire.has_start_time),
            startDate: wire.start_date.text(if: wire.has_start_date),
            scheduleRelationship: value(
                wire.schedule_relationship.rawValue,
                if: wire.has_schedule_relationship
            ).flatMap(ScheduleRelationship.init)
        )
    }
}

extension VehicleDescriptor {
    fileprivate init(_ wire: TransitRealtime__VehicleDescriptor) {
        self.init(
            id: wire.id.id(if: wire.has_id),
            label: wire.label.text(if: wire.has_label),
            licensePlate: wire.license_plate.text(if: wire.has_license_plate)
        )
    }
}

extension TripUpdate {
    fileprivate init(_ wire: TransitRealtime__TripUpdate) {
        self.init(
            trip: wire.trip.map { TripDescriptor($0.pointee) } ?? TripDescriptor(),
            vehicle: wire.vehicle.map { VehicleDescriptor($0.pointee) },
            stopTimeUpdates: (0..<wire.n_stop_time_update).compactMap { index in
                wire.stop_time_update[index].map { StopTimeUpdate($0.pointee) }
            },
            timestamp: value(wire.timestamp, if: wire.has_timestamp),
            delay: value(wire.delay, if: wire.has_delay)
        )
    }
}

extension StopTimeUpdate {
    fileprivate init(_ wire: TransitRealtime__TripUpdate__StopTimeUpdate) {
        self.init(
            stopSequence: value(wire.stop_sequence, if: wire.has_stop_sequence),
            stopID: wire.stop_id.id(if: wire.has_stop_id),
            arrival: wire.arrival.map { StopTimeEvent($0.pointee) },
            departure: wire.departure.map { StopTimeEvent($0.pointee) },
            scheduleRelationship: value(
                wire.schedule_relationship.rawValue,
                if: wire.has_schedule_relationship
            ).flatMap(ScheduleRelationship.init)
        )
    }
}

extension StopTimeEvent {
    fileprivate init(_ wire: TransitRealtime__TripUpdate__StopTimeEvent) {
        self.init(
            delay: value(wire.delay, if: wire.has_delay),
            time: value(wire.time, if: wire.has_time),
            uncertainty: value(wire.uncertainty, if: wire.has_uncertainty)
        )
    }
}
