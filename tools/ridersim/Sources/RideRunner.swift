internal import FoundationEssentials
internal import Transit
internal import VehiclePositionsKit

/// How one simulated ride went.
enum RideResult: Sendable, Equatable {
    case ended(RideEndReason)
    /// The simulator was told to stop.
    case interrupted
    /// The ride never began.
    case failed(String)
}

/// Takes one simulated rider through one ride, with the kit that apps use.
struct RideRunner: Sendable {
    /// The rider's name in the output and in the installation file, such as `2.1`.
    let name: String
    let choice: TripChoice
    let schedule: ScheduleIndex
    let options: SimulatorOptions
    let seed: UInt64
    let transport: any RideTransport
    let credentials: any CredentialStore
    let clock: any RideClock
    let say: @Sendable (String) -> Void

    func run(serverURL: URL) async -> RideResult {
        let source = SimulatedLocationSource(plan: plan(), clock: clock)
        let line: @Sendable (String) -> Void = { [say, name] in say("rider \(name): \($0)") }
        var configuration = RideReporterConfiguration(
            serverURL: serverURL,
            appID: "ridersim",
            appVersion: "1"
        )
        configuration.honorsRetryAfter = true
        configuration.callTimeout = PatientTransport.longestCall
        let reporter = RideReporter(
            configuration: configuration,
            transport: PatientTransport(base: transport, clock: clock, say: line),
            locationSource: source,
            credentialStore: credentials,
            clock: clock
        )
        let descriptor = TripDescriptor(
            tripID: choice.trip.id.rawValue,
            startDate: choice.startDate.description
        )
        do {
            let events = try await reporter.start(descriptor)
            return await follow(events, of: reporter, source: source, line)
        } catch is CancellationError {
            return .interrupted
        } catch {
            line("not started: \(error)")
            return .failed("\(error)")
        }
    }

    private func follow(
        _ events: AsyncStream<RideEvent>,
        of reporter: RideReporter,
        source: SimulatedLocationSource,
        _ line: @Sendable (String) -> Void
    ) async -> RideResult {
        let ending = Task {
            for await reason in source.endings { await reporter.end(reason: reason) }
        }
        defer { ending.cancel() }
        var state = RideState.pending
        for await event in events {
            switch event {
            case .registered(let riderID):
                line("registered as \(riderID)")
            case .started(let rideID):
                line("started \(rideID) on \(choice.trip.id) of \(choice.startDate)")
            case .progress(let progress):
                if progress.state != state { line("\(state) -> \(progress.state)") }
                state = progress.state
                line(describe(progress, along: source.alongShape))
            case .warning(let warning):
                line("\(warning)")
            case .ended(let reason, let summary):
                let counts = summary.map {
                    "; \($0.points) points, \($0.matched) matched, "
                        + "\($0.corroborated) corroborated, \($0.durationSeconds) s"
                }
                if isRejection(reason), state != .rejected { line("\(state) -> rejected") }
                line("ended \(reason.rawValue)\(counts ?? "")")
                return .ended(reason)
            }
        }
        // The stream stops early only when this task is cancelled.
        await reporter.end(reason: .appTerminated)
        line("ended \(RideEndReason.appTerminated.rawValue)")
        return .interrupted
    }

    private func isRejection(_ reason: RideEndReason) -> Bool {
        [.offRoute, .contradicted, .implausible, .offSchedule].contains(reason)
    }

    private func describe(_ progress: RideProgress, along: Double) -> String {
        let place = "\(Int(along)) of \(Int(choice.trip.shape.length)) m"
        let verdict = "\(progress.state)\(weight(progress))"
        let streak = progress.offRouteStreak > 0 ? ", \(progress.offRouteStreak) off" : ""
        return "\(place), \(progress.pointsAccepted) points, \(verdict), "
            + "\(progress.corroboration)\(streak)"
    }

    /// What a verified ride is worth to the feed; the answer does not say what others add to it.
    private func weight(_ progress: RideProgress) -> String {
        guard progress.state == .verified else { return "" }
        return progress.published
            ? " (enough for the feed)" : " (for the feed if another rider agrees)"
    }

    // MARK: - How this rider differs from the next

    private func plan() -> SimulatedLocationSource.Plan {
        var random = SeededRandom(seed: seed)
        let noise = options.noise * random.uniform(0.7...1.3)
        let phase = random.uniform(0...options.intervalSeconds)
        // Seats in a bus are some metres apart; two riders of one bus must still agree.
        let lead = random.uniform(-10...10)
        let walkSeed = random.next()
        let runner = self
        return SimulatedLocationSource.Plan(
            interval: .seconds(options.intervalSeconds),
            phase: .seconds(phase),
            duration: options.durationSeconds > 0 ? options.durationSeconds : nil
        ) { now in
            SimulatedWalk(
                trip: runner.choice.trip,
                pace: runner.pace(at: now),
                leadMeters: lead,
                noiseMeters: noise,
                offRouteAfter: runner.options.offRouteAfterSeconds > 0
                    ? runner.options.offRouteAfterSeconds : nil,
                seed: walkSeed
            )
        }
    }

    /// Where the rider begins: where the timetable has the vehicle, or at the start of the shape.
    func pace(at now: Date) -> SimulatedWalk.Pace {
        let seconds = now.timeIntervalSince1970
        let offset = seconds - Double(schedule.startOfService(on: choice.startDate))
        let isUnderWay = choice.trip.isRunning(at: Int(offset))
        if options.followsSchedule, isUnderWay { return .timetable(offset: offset) }
        let start =
            isUnderWay && !options.startsAtShapeStart
            ? choice.trip.scheduledAlong(at: offset) : 0
        return .constant(metersPerSecond: options.speed, from: start)
    }
}
