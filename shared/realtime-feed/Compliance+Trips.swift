public import Transit

extension ComplianceRule {
    /// Rules about trip descriptors, most of them against the schedule.
    static let tripRules: [ComplianceRule] = [
        trip("E003", "a trip is not in the schedule") { trip, schedule in
            guard let id = trip.tripID, !id.isEmpty else { return false }
            return schedule.facts(of: id) == nil && trip.scheduleRelationship != .added
        },
        trip("E004", "a route is not in the schedule") { trip, schedule in
            guard let id = trip.routeID, !id.isEmpty else { return false }
            return schedule.route(id) == nil
        },
        trip("E006", "a run of a frequency-based trip has no start") { trip, schedule in
            guard trip.facts(schedule)?.frequency == .approximate else { return false }
            return trip.startDate == nil || trip.startTime == nil
        },
        trip("E013", "a frequency-based trip is called scheduled") { trip, schedule in
            guard trip.facts(schedule)?.frequency == .approximate else { return false }
            return trip.scheduleRelationship != nil && trip.scheduleRelationship != .unscheduled
        },
        trip("E016", "an added trip is in the schedule") { trip, schedule in
            trip.scheduleRelationship == .added && trip.facts(schedule) != nil
        },
        ComplianceRule(id: "E020", title: "a start time is not HH:MM:SS", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                entity.hasTrip { trip in
                    trip.startTime.map { TripDescriptor.seconds(ofTime: $0) == nil } ?? false
                }
            }
        },
        trip("E023", "a start time is not the schedule's") { trip, schedule in
            guard let time = trip.startTime, let facts = trip.facts(schedule),
                facts.frequency == nil, let scheduled = facts.startTime
            else { return false }
            return TripDescriptor.seconds(ofTime: time) != scheduled
        },
        trip("E024", "a direction is not the schedule's") { trip, schedule in
            guard let direction = trip.directionID, let facts = trip.facts(schedule) else {
                return false
            }
            return facts.directionID.flatMap(UInt32.init(exactly:)) != direction
        },
        trip("E035", "a trip is on another route") { trip, schedule in
            guard let route = trip.routeID, schedule.route(route) != nil,
                let facts = trip.facts(schedule)
            else { return false }
            return facts.routeID != route
        },
        ComplianceRule(id: "W006", title: "a descriptor names no trip", severity: .warning) {
            feed,
            _ in
            feed.indices { $0.hasTrip { $0.tripID == nil } }
        },
        ComplianceRule(
            id: "W009",
            title: "a trip does not say how it relates to the schedule",
            severity: .warning
        ) { feed, _ in
            feed.indices { entity in
                entity.hasTrip { $0.scheduleRelationship == nil }
                    || (entity.tripUpdate?.stopTimeUpdates ?? [])
                        .contains { $0.scheduleRelationship == nil }
            }
        },
        ComplianceRule(
            id: "A002",
            title: "a trip descriptor names neither trip nor route",
            severity: .error
        ) { feed, _ in
            feed.indices { entity in
                entity.hasTrip { trip in
                    (trip.tripID?.isEmpty ?? true) && (trip.routeID?.isEmpty ?? true)
                }
            }
        },
        ComplianceRule(id: "A003", title: "a start date is not eight digits", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                entity.hasTrip { trip in
                    guard let date = trip.startDate?.utf8 else { return false }
                    return date.count != 8 || !date.allSatisfy { (0x30...0x39).contains($0) }
                }
            }
        },
    ]

    private static func trip(
        _ id: String,
        _ title: String,
        breaks: @escaping @Sendable (TripDescriptor, ScheduleIndex) -> Bool
    ) -> ComplianceRule {
        ComplianceRule(id: id, title: title, severity: .error) { feed, context in
            guard let schedule = context.schedule else { return [] }
            return feed.indices { $0.hasTrip { breaks($0, schedule) } }
        }
    }
}

extension TripDescriptor {
    /// What the schedule says of the trip; nil without a trip or when the schedule has none such.
    public func facts(_ schedule: ScheduleIndex) -> TripFacts? {
        guard let tripID, !tripID.isEmpty else { return nil }
        return schedule.facts(of: tripID)
    }

    /// The seconds of a text `HH:MM:SS`, whose hours may pass 24.
    ///
    /// - Returns: nil for any other text, such as one without the leading zero.
    public static func seconds(ofTime text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 8, bytes[2] == 0x3A, bytes[5] == 0x3A else { return nil }
        var numbers: [Int] = []
        for start in [0, 3, 6] {
            guard (0x30...0x39).contains(bytes[start]), (0x30...0x39).contains(bytes[start + 1])
            else { return nil }
            numbers.append(Int(bytes[start] - 0x30) * 10 + Int(bytes[start + 1] - 0x30))
        }
        guard numbers[1] < 60, numbers[2] < 60 else { return nil }
        return numbers[0] * 3600 + numbers[1] * 60 + numbers[2]
    }

    /// Seconds after the start of service as `start_time` has them, `HH:MM:SS`.
    public static func time(ofSeconds seconds: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
        let seconds = max(0, seconds)
        return two(seconds / 3600) + ":" + two(seconds / 60 % 60) + ":" + two(seconds % 60)
    }
}
