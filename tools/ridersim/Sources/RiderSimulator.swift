internal import FoundationEssentials
internal import Synchronization
public import Transit
public import VehiclePositionsKit

/// Rides trips of a schedule as riders with phones would, against a real server.
public struct RiderSimulator: Sendable {
    let options: SimulatorOptions
    let schedule: ScheduleIndex
    let transport: any RideTransport
    let clock: any RideClock
    let say: @Sendable (String) -> Void

    /// Between two rides of a crew that goes on riding.
    static let pauseBetweenRides = Duration.seconds(5)

    /// Makes a simulator.
    ///
    /// - Parameters:
    ///   - options: What to ride, and how.
    ///   - schedule: The schedule the server has loaded, too.
    ///   - transport: Carries the calls.
    ///   - clock: The riders' time.
    ///   - say: Takes a line of output.
    public init(
        options: SimulatorOptions,
        schedule: ScheduleIndex,
        transport: any RideTransport,
        clock: any RideClock,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.options = options
        self.schedule = schedule
        self.transport = transport
        self.clock = clock
        self.say = say
    }

    /// Rides until every rider is done, or until the task is cancelled.
    ///
    /// - Returns: 0 when every ride ended as expected, 1 otherwise, 2 when nothing could be ridden.
    public func run() async -> Int32 {
        guard let serverURL = URL(string: options.url) else {
            say("-url \(options.url) is no URL")
            return 2
        }
        do {
            let installations = try InstallationFile(
                path: options.installations.isEmpty ? nil : options.installations
            )
            let choices = try chooseTrips()
            let results = await withTaskGroup(of: [RideResult].self) { group in
                for (crew, choice) in choices.enumerated() {
                    group.addTask {
                        await ride(choice, crew: crew, serverURL, installations)
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            return summarize(results)
        } catch {
            say("\(error)")
            return 2
        }
    }

    // MARK: - Trips

    struct NothingToRide: Error, CustomStringConvertible {
        let description: String
    }

    func chooseTrips() throws -> [TripChoice] {
        let now = UnixSeconds(clock.now.timeIntervalSince1970)
        let date = ServiceDate(options.startDate)
        var choices = try options.trips.map { id in
            guard let trip = schedule.trip(TripID(id)) else {
                throw NothingToRide(description: "the schedule has no trip \(id) with a shape")
            }
            let startDate = date ?? schedule.defaultStartDate(for: trip, at: now)
            return TripChoice(trip: trip, startDate: startDate)
        }
        var random = SeededRandom(seed: options.seed)
        let picked = schedule.tripsUnderWay(at: now, on: date)
            .shuffled(using: &random)
            .prefix(options.random)
        if picked.count < options.random {
            say("only \(picked.count) trips are under way, not \(options.random)")
        }
        choices += picked
        if choices.isEmpty { throw NothingToRide(description: "no trip is under way now") }
        return choices
    }

    // MARK: - Riding

    private func ride(
        _ first: TripChoice,
        crew: Int,
        _ serverURL: URL,
        _ installations: InstallationFile
    ) async -> [RideResult] {
        var results: [RideResult] = []
        var choice = first
        var round: UInt64 = 0
        while true {
            results += await board(choice, crew: crew, round, serverURL, installations)
            guard options.repeats, !Task.isCancelled else { return results }
            results = results.suffix(Self.keptResults)
            do { try await clock.sleep(for: Self.pauseBetweenRides) } catch { return results }
            round += 1
            choice = next(after: choice, crew: crew, round)
        }
    }

    /// The latest rides of a crew that goes on riding; the summary counts these.
    static let keptResults = 100

    /// A crew chosen at random takes another trip under way; a crew with a trip of its own keeps it.
    private func next(after choice: TripChoice, crew: Int, _ round: UInt64) -> TripChoice {
        let now = UnixSeconds(clock.now.timeIntervalSince1970)
        if crew < options.trips.count {
            let date = ServiceDate(options.startDate)
            return TripChoice(
                trip: choice.trip,
                startDate: date ?? schedule.defaultStartDate(for: choice.trip, at: now)
            )
        }
        var random = SeededRandom(seed: options.seed, UInt64(crew), round)
        let choices = schedule.tripsUnderWay(at: now, on: ServiceDate(options.startDate))
        return choices.randomElement(using: &random) ?? choice
    }

    private func board(
        _ choice: TripChoice,
        crew: Int,
        _ round: UInt64,
        _ serverURL: URL,
        _ installations: InstallationFile
    ) async -> [RideResult] {
        await withTaskGroup(of: RideResult.self) { group in
            for rider in 0..<options.ridersPerTrip {
                let name = "\(crew + 1).\(rider + 1)"
                var random = SeededRandom(seed: options.seed, UInt64(crew), UInt64(rider), round)
                let runner = RideRunner(
                    name: name,
                    choice: choice,
                    schedule: schedule,
                    options: options,
                    seed: random.next(),
                    transport: transport,
                    credentials: installations.store(for: name),
                    clock: clock,
                    say: say
                )
                let delay = Duration.seconds(random.uniform(0...options.intervalSeconds))
                group.addTask { [clock] in
                    do { try await clock.sleep(for: delay) } catch { return .interrupted }
                    return await runner.run(serverURL: serverURL)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    // MARK: - Summary

    private func summarize(_ results: [RideResult]) -> Int32 {
        var counts: [String: Int] = [:]
        var unexpected = 0
        for result in results {
            switch result {
            case .ended(let reason):
                counts[reason.rawValue, default: 0] += 1
                if !options.expects(reason) { unexpected += 1 }
            case .interrupted:
                counts["interrupted", default: 0] += 1
            case .failed:
                counts["not started", default: 0] += 1
                unexpected += 1
            }
        }
        let parts = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        say("rides: \(parts.joined(separator: ", ")); \(unexpected) not as expected")
        return unexpected == 0 ? 0 : 1
    }
}
