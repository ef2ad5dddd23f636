internal import Foundation

/// The life of a ride between its start and its end.
extension RideReporter {
    /// Between two looks at the clock while an upload waits for its answer.
    private static let lookInterval = Duration.seconds(20)

    /// Whether this ride still runs, and is not on its way out.
    private func isRunning(_ number: Int) -> Bool {
        ride?.number == number && ride?.ending == nil
    }

    // MARK: - Positions

    func followLocations(_ number: Int) async {
        do {
            for try await sample in locationSource.updates() {
                guard isRunning(number) else { return }
                await receive(sample, number)
            }
        } catch {
            // An error means what an end means: there are no more positions.
        }
        if isRunning(number) { await finish(number, .locationUnavailable) }
    }

    private func receive(_ sample: LocationSample, _ number: Int) async {
        warn(of: sample.diagnostic)
        let now = clock.now
        let reason = ride?.conditions.receive(sample, now: now)
        if let position = RiderPosition(sample) {
            ride?.uploads.append(position, now: now, isLast: reason != nil)
        }
        if let reason {
            await finish(number, reason)
        } else if let batch = ride?.uploads.takeIfFull() {
            ride?.upload = Task { await self.upload(batch, number) }
        }
        keepRide()
    }

    private func warn(of diagnostic: LocationDiagnostic?) {
        switch diagnostic {
        case .accuracyLimited where ride?.hasWarnedOfAccuracy == false:
            ride?.hasWarnedOfAccuracy = true
            ride?.events.yield(.warning(.accuracyLimited))
        case .insufficientlyInUse where ride?.hasWarnedOfUse == false:
            ride?.hasWarnedOfUse = true
            ride?.events.yield(.warning(.insufficientlyInUse))
        default:
            break
        }
    }

    // MARK: - Uploads

    func runTicks(_ number: Int) async {
        while isRunning(number), let delay = ride?.uploads.nextTick {
            do { try await clock.sleep(for: delay) } catch { return }
            guard isRunning(number) else { return }
            await tick(number)
        }
    }

    private func tick(_ number: Int) async {
        keepRide()
        if let reason = ride?.conditions.check(at: clock.now) {
            await finish(number, reason)
        } else if let batch = ride?.uploads.takeOnTick() {
            await uploadWatchfully(batch, number)
        } else if ride?.uploads.buffer.isEmpty == true,
            ride?.uploads.hasFailedTooLong(at: clock.now) == true
        {
            await finish(number, .networkFailure)
        }
    }

    /// Uploads and waits for the answer; a ride whose time is up meanwhile does not wait with it.
    private func uploadWatchfully(_ batch: [RiderPosition], _ number: Int) async {
        let upload = Task { await self.upload(batch, number) }
        ride?.upload = upload
        let watch = Task { await self.watchClock(number) }
        await upload.value
        watch.cancel()
    }

    private func watchClock(_ number: Int) async {
        while isRunning(number), let left = ride?.conditions.timeLeft(at: clock.now) {
            // A wall clock that was set may need a second look.
            let pause = max(.seconds(1), min(left, Self.lookInterval))
            do { try await clock.sleep(for: pause) } catch { return }
            guard isRunning(number) else { return }
            if let reason = ride?.conditions.check(at: clock.now) { await finish(number, reason) }
        }
    }

    private func upload(_ batch: [RiderPosition], _ number: Int) async {
        guard isRunning(number), let address = ride?.address else { return }
        let outcome = await client.report(batch, of: address)
        // A ride that is ending has taken the batch back already.
        guard isRunning(number) else { return }
        switch ride?.uploads.finish(outcome, now: clock.now) {
        case .progress(let answer):
            await show(answer, number)
        case .warn(let warning):
            ride?.events.yield(.warning(warning))
        case .endedByServer(let reason):
            await finish(number, reason, isDecidedByServer: true)
        case .unauthorized:
            forgetToken(address.token)
            await finish(number, .serverRestart, isDecidedByServer: true)
        case .giveUp:
            await finish(number, .networkFailure)
        case .proceed, nil:
            break
        }
    }

    private func show(_ answer: PositionsAnswer, _ number: Int) async {
        ride?.state = answer.state
        ride?.pointsAccepted += answer.accepted
        ride?.events.yield(
            .progress(
                RideProgress(
                    state: answer.state,
                    published: answer.published,
                    corroboration: answer.corroboration,
                    pointsAccepted: ride?.pointsAccepted ?? 0,
                    offRouteStreak: answer.offRouteStreak
                )
            )
        )
        guard answer.ended else { return }
        let reason = RideEndReason(fromServer: answer.endReason)
        await finish(number, reason, isDecidedByServer: true)
    }

    // MARK: - Ending

    /// Ends a ride once, however many ask for it; all of them wait until it is over.
    func finish(
        _ number: Int,
        _ reason: RideEndReason,
        isDecidedByServer: Bool = false
    ) async {
        guard let ride, ride.number == number else { return }
        if let ending = ride.ending { return await ending.value }
        for task in ride.tasks { task.cancel() }
        ride.upload?.cancel()
        configuration.journal?.clear()
        let batches = isDecidedByServer ? [] : self.ride?.uploads.drain(now: clock.now) ?? []
        let flush = FinalFlush(
            client: client,
            clock: clock,
            ride: ride.address,
            batches: batches,
            reason: reason.isReportedByClient && !isDecidedByServer ? reason : nil
        )
        // A task of its own: the caller may be one of those that were just cancelled.
        let ending = Task { await self.takeLeave(reason, flush) }
        self.ride?.ending = ending
        await ending.value
    }

    private func takeLeave(_ reason: RideEndReason, _ flush: FinalFlush) async {
        let summary = await flush.run()
        ride?.events.yield(.ended(reason, summary: summary))
        ride?.events.finish()
        ride?.activity.invalidate()
        ride = nil
    }
}
