internal import ClientTransport
internal import Foundation

/// Goes on with a ride whose app was ended by the system.
extension RideReporter {
    /// Goes on with the ride that an ended process of this app left behind, if there is one.
    ///
    /// Needs ``RideReporterConfiguration/journal``. Call it as soon as the app runs again: the
    /// system lets a background activity go on only then. A ride that was last heard of ten minutes
    /// ago or earlier is forgotten, and so is one of another rider; the server has not ended it
    /// before fifteen.
    ///
    /// - Returns: What happens on the ride, beginning with `.started`; nil when there is nothing to
    ///   go on with, or a ride runs already.
    /// - Throws: `CancellationError` when the task is cancelled or ``end(reason:)`` is called meanwhile.
    public func resume() async throws -> AsyncStream<RideEvent>? {
        let ends = endCount
        try await starts.enter()
        defer { starts.leave() }
        try checkIsWanted(ends)
        guard ride == nil, let journal = configuration.journal, let data = journal.load() else {
            return nil
        }
        guard let kept = try? JSONDecoder().decode(KeptRide.self, from: data),
            kept.isFresh(at: clock.now)
        else {
            journal.clear()
            return nil
        }
        // Another server's ride may be another reporter's.
        guard kept.serverURL == configuration.serverURL else { return nil }
        let credentials = credentialStore.load()
        guard let token = credentials?.token, credentials?.riderID == kept.riderID else {
            journal.clear()
            return nil
        }
        return install(kept, token: token)
    }

    private func install(_ kept: KeptRide, token: String) -> AsyncStream<RideEvent> {
        let (stream, events) = Self.makeEvents()
        var uploads = UploadSchedule(
            intervalSeconds: kept.firstIntervalSeconds,
            batchSize: kept.batchSize,
            failureTimeout: configuration.uploadFailureTimeout,
            honorsRetryAfter: configuration.honorsRetryAfter
        )
        for position in kept.positions.suffix(SampleBuffer.limit) {
            uploads.append(position, now: clock.now)
        }
        uploads.follow(kept.intervalSeconds)
        install(
            RideAddress(rideID: kept.rideID, token: token, acceptsGzip: kept.acceptsGzip),
            state: kept.state,
            uploads: uploads,
            conditions: EndConditions(
                configuration: configuration,
                destination: kept.destination?.coordinate,
                startedAt: kept.startedAt,
                firstFix: kept.firstFix?.coordinate
            ),
            events: events
        )
        ride?.pointsAccepted = min(max(0, kept.pointsAccepted), KeptRide.pointLimit)
        return stream
    }

    /// Saves the running ride if a journal is there and the last saving is some seconds old.
    func keepRide() {
        guard let journal = configuration.journal, let ride, ride.ending == nil else { return }
        let now = clock.now
        // A clock that was set back counts as time that has passed.
        guard abs(now.timeIntervalSince(ride.keptAt)) >= KeptRide.cadenceSeconds else { return }
        let kept = KeptRide(
            ride,
            serverURL: configuration.serverURL,
            riderID: credentialStore.load()?.riderID,
            now: now
        )
        guard let data = try? RiderClient.encoder.encode(kept) else { return }
        journal.save(data)
        self.ride?.keptAt = now
    }
}
