import RealtimeFeed
import Transit

/// Feeds that the tests share.
enum Samples {
    static let now: UInt64 = 1_771_257_600

    static func vehicle(
        _ id: String = "bus-1",
        latitude: Float = 47.6,
        longitude: Float = -122.33,
        bearing: Float? = 90,
        speed: Float? = 8.5,
        timestamp: UInt64? = now - 5,
        trip: TripDescriptor? = TripDescriptor(
            tripID: "trip-1",
            routeID: "route-1",
            startDate: "20260216"
        )
    ) -> FeedEntity {
        FeedEntity(
            id: id,
            vehicle: VehiclePosition(
                trip: trip,
                vehicle: VehicleDescriptor(id: VehicleID(id)),
                position: Position(
                    latitude: latitude,
                    longitude: longitude,
                    bearing: bearing,
                    speed: speed
                ),
                timestamp: timestamp
            )
        )
    }

    static func feed(_ entities: [FeedEntity], timestamp: UInt64? = now) -> FeedMessage {
        FeedMessage(header: FeedHeader(timestamp: timestamp), entities: entities)
    }

    /// A feed in which every field that we write has a value, then one in which none has.
    static var everything: FeedMessage {
        let trip = TripDescriptor(
            tripID: "a/b c",
            routeID: "r\u{301}",
            directionID: 1,
            startTime: "25:10:00",
            startDate: "20260216",
            scheduleRelationship: .new
        )
        let vehicle = VehicleDescriptor(id: "v:1", label: "\"é\"\n🚌", licensePlate: "A\u{1}B")
        var entities = [
            FeedEntity(
                id: "everything",
                isDeleted: false,
                vehicle: VehiclePosition(
                    trip: trip,
                    vehicle: vehicle,
                    position: Position(
                        latitude: 47.600_01,
                        longitude: -122.3,
                        bearing: 0,
                        odometer: 1e21,
                        speed: 1e-30
                    ),
                    currentStopSequence: .max,
                    stopID: "s",
                    currentStatus: .incomingAt,
                    timestamp: .max,
                    congestionLevel: .severeCongestion,
                    occupancyStatus: .notBoardable,
                    occupancyPercentage: 0
                )
            ),
            FeedEntity(
                id: "update",
                tripUpdate: TripUpdate(
                    trip: trip,
                    vehicle: vehicle,
                    stopTimeUpdates: [
                        StopTimeUpdate(
                            stopSequence: 0,
                            stopID: "s",
                            arrival: StopTimeEvent(delay: -90, time: -1, uncertainty: 0),
                            departure: StopTimeEvent(delay: .min, time: .max, uncertainty: .max),
                            scheduleRelationship: .noData
                        ),
                        StopTimeUpdate(),
                    ],
                    timestamp: 1,
                    delay: -3
                )
            ),
            FeedEntity(id: ""),
            FeedEntity(id: "bare", vehicle: VehiclePosition(trip: TripDescriptor())),
        ]
        for status in VehiclePosition.OccupancyStatus.allCases {
            entities.append(
                FeedEntity(id: status.name, vehicle: VehiclePosition(occupancyStatus: status))
            )
        }
        for level in VehiclePosition.CongestionLevel.allCases {
            entities.append(
                FeedEntity(id: level.name, vehicle: VehiclePosition(congestionLevel: level))
            )
        }
        for status in VehiclePosition.VehicleStopStatus.allCases {
            entities.append(
                FeedEntity(id: status.name, vehicle: VehiclePosition(currentStatus: status))
            )
        }
        for relation in TripDescriptor.ScheduleRelationship.allCases {
            entities.append(
                FeedEntity(
                    id: relation.name,
                    vehicle: VehiclePosition(trip: TripDescriptor(scheduleRelationship: relation))
                )
            )
        }
        for relation in StopTimeUpdate.ScheduleRelationship.allCases {
            entities.append(
                FeedEntity(
                    id: relation.name,
                    tripUpdate: TripUpdate(
                        trip: TripDescriptor(),
                        stopTimeUpdates: [StopTimeUpdate(scheduleRelationship: relation)]
                    )
                )
            )
        }
        return FeedMessage(
            header: FeedHeader(incrementality: .differential, timestamp: now),
            entities: entities
        )
    }
}
