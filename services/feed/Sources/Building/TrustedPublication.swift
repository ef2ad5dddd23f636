internal import Messages
internal import RealtimeFeed
internal import Transit

/// What another builder said of trusted vehicles; of each agency it stands until that has answered this one.
struct InheritedTrust: Sendable {
    private var message: TrustedVehicles?
    /// Rises with each message.
    private(set) var version: UInt64 = 0
    /// Under which the last message was said; 0 before the first.
    var epoch: UInt64 { message?.epoch ?? 0 }

    init() {}

    /// Takes a message; an older one than the last changes nothing.
    mutating func hear(_ message: TrustedVehicles) {
        if let known = self.message,
            (known.epoch, known.sequence) >= (message.epoch, message.sequence)
        {
            return
        }
        self.message = message
        version += 1
    }

    /// Whether the message says what agencies report now, or said so not long ago.
    func isUsable(at now: UnixSeconds, age: TrustedAge) -> Bool {
        guard let message, message.complete else { return false }
        return age.allows(message.createdAt, at: now)
    }

    /// The vehicles that still count: young enough, and of agencies that have not answered yet.
    ///
    /// An agency that is away keeps its own vehicles here until they are too old, and nobody else's.
    func standing(
        beside agencies: [AgencyFeed],
        at now: UnixSeconds,
        age: TrustedAge
    ) -> [TrustedVehicle] {
        guard let message, !agencies.allSatisfy(\.hasAnswered) else { return [] }
        return message.vehicles.filter { vehicle in
            vehicle.source == .agency && age.allows(vehicle.timestamp, at: now)
                && !agencies.haveAnswered(at: vehicle.feed)
        }
    }
}

/// Tells the verifiers which vehicles are trusted, whenever that changes and often enough otherwise.
struct TrustedPublication: Sendable {
    /// Seconds after which an unchanged snapshot is told again: verifiers judge it by its age.
    static let longestSilence: Int64 = 5

    private var last: (vehicles: [TrustedVehicle], complete: Bool, at: UnixSeconds)?
    private var sequence: UInt64 = 0

    init() {}

    /// The snapshot of this moment.
    ///
    /// - Parameters:
    ///   - agencies: The agencies' vehicles that count, one for each run.
    ///   - drivers: The drivers' vehicles, one for each run.
    ///   - configured: Whether any agency feed is configured.
    ///   - complete: Whether every one of them was tried.
    ///   - stamp: Who says so.
    ///   - now: The application clock.
    /// - Returns: nil when the last one stands.
    mutating func snapshot(
        agencies: [TrustedVehicle],
        drivers: [TrustedVehicle],
        configured: Bool,
        complete: Bool,
        stamp: BuilderStamp,
        at now: UnixSeconds
    ) -> TrustedVehicles? {
        let vehicles = agencies + drivers
        if let last, last.vehicles == vehicles, last.complete == complete,
            now - last.at < Self.longestSilence
        {
            return nil
        }
        last = (vehicles, complete, now)
        sequence += 1
        return TrustedVehicles(
            instance: stamp.instance,
            epoch: stamp.epoch,
            sequence: sequence,
            createdAt: now,
            configured: configured,
            complete: complete,
            vehicles: vehicles
        )
    }
}

/// Who builds, and under which epoch.
struct BuilderStamp: Sendable, Equatable {
    /// The process on the bus.
    var instance: String
    /// Drawn when the builder's lock was taken.
    var epoch: UInt64
}

extension AgencyFusion {
    /// Every vehicle on a trip as verifiers take it, one for each run.
    ///
    /// - Parameter standing: What another builder said and still counts; it is told on, so that neither
    ///   verifiers nor the next builder lose it.
    /// - Returns: The vehicles; of two on one run the fresher.
    func trusted(beside standing: [TrustedVehicle]) -> [TrustedVehicle] {
        var vehicles = runs.compactMap(\.trusted)
        guard !standing.isEmpty else { return vehicles }
        var places: [Run: Int] = [:]
        for (place, vehicle) in vehicles.enumerated() { places[Run(vehicle)] = place }
        for vehicle in standing {
            guard let place = places[Run(vehicle)] else {
                places[Run(vehicle)] = vehicles.count
                vehicles.append(vehicle)
                continue
            }
            if vehicle.timestamp > vehicles[place].timestamp { vehicles[place] = vehicle }
        }
        return vehicles
    }
}

extension AgencyFusion.Run {
    fileprivate init(_ vehicle: TrustedVehicle) {
        self.init(trip: vehicle.tripID, date: vehicle.startDate)
    }
}

extension AgencyFusion.Sighting {
    /// The vehicle as verifiers take it; nil when it names no trip or no time of its own.
    ///
    /// An impossible place covers the trip all the same, so the verifiers hear of it, too.
    fileprivate var trusted: TrustedVehicle? {
        guard let trip = vehicle.tripID, let time = vehicle.measuredAt else { return nil }
        let place = vehicle.coordinate
        return TrustedVehicle(
            tripID: trip,
            startDate: vehicle.startDate,
            vehicleID: vehicle.position.vehicle?.id ?? VehicleID(vehicle.entityID),
            latitude: place?.latitude,
            longitude: place?.longitude,
            timestamp: time,
            source: .agency,
            feed: feed
        )
    }
}
