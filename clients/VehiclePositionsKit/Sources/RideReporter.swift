internal import ClientTransport
internal import Foundation

#if canImport(CoreLocation)
internal import CoreLocation
#endif

/// Reports the phone's position while its rider is aboard a vehicle.
///
/// One ride runs at a time. A ride ends by the host's call, by the server's word, or by itself: at
/// the destination, after standing still, after its longest duration, or when positions or the
/// network fail. Nothing but a random installation id identifies the rider.
///
/// A ride keeps its reporter alive: one that the host lets go of goes on to one of these ends.
public actor RideReporter {
    /// Events a host has not read yet; beyond that the oldest go, never the last.
    static let eventLimit = 1024

    let configuration: RideReporterConfiguration
    let client: RiderClient
    let locationSource: any LocationSource
    let credentialStore: any CredentialStore
    let clock: any RideClock
    var ride: Ride?

    let starts = TurnQueue()
    private var rideCount = 0
    /// Ends that the host asked for, so that a start under way hears of one.
    private(set) var endCount = 0

    /// Makes a reporter from its parts.
    ///
    /// - Parameters:
    ///   - configuration: The server and the limits.
    ///   - transport: Carries the calls.
    ///   - locationSource: Gives positions.
    ///   - credentialStore: Keeps the installation's id and token.
    ///   - clock: The time the ride lives by.
    public init(
        configuration: RideReporterConfiguration,
        transport: any RideTransport,
        locationSource: any LocationSource,
        credentialStore: any CredentialStore,
        clock: any RideClock = ContinuousRideClock()
    ) {
        self.configuration = configuration
        client = RiderClient(
            transport: transport,
            baseURL: configuration.serverURL,
            callTimeout: configuration.callTimeout,
            clock: clock
        )
        self.locationSource = locationSource
        self.credentialStore = credentialStore
        self.clock = clock
    }

    /// How far the server trusts the running ride, nil when none runs.
    public var currentState: RideState? { ride?.state }

    /// Starts a ride; one that runs already ends first as ``RideEndReason/superseded``.
    ///
    /// Call it while the app is in the foreground: the system grants background activity only
    /// there. Starts that overlap run one after the other. The stream finishes after `.ended`.
    ///
    /// - Parameter trip: The trip the rider is aboard.
    /// - Returns: What happens on the ride, from its registration on.
    /// - Throws: ``RideError`` when the server refuses or cannot be reached, `CancellationError`
    ///   when the task is cancelled or ``end(reason:)`` is called meanwhile; no ride runs then.
    public func start(_ trip: TripDescriptor) async throws -> AsyncStream<RideEvent> {
        let ends = endCount
        try await starts.enter()
        defer { starts.leave() }
        try checkIsWanted(ends)
        if let ride { await finish(ride.number, .superseded) }
        try checkIsWanted(ends)
        let (stream, events) = Self.makeEvents()
        do {
            let started = try await authorized(announcingTo: events) { [client] token in
                try await client.startRide(trip, token: token) { self.abandon($0) }
            }
            if Task.isCancelled || ends != endCount {
                abandon(started.address)
                throw CancellationError()
            }
            install(started.answer, at: started.address, events: events)
            return stream
        } catch {
            events.finish()
            throw error
        }
    }

    /// Ends the running ride, or the start that is under way; does nothing when there is neither.
    ///
    /// The last positions and the end call get ten seconds together; what is slower goes on in the
    /// background while this returns.
    ///
    /// - Parameter reason: What the server is told.
    public func end(reason: RideEndReason = .userRequested) async {
        endCount += 1
        guard let ride else { return }
        await finish(ride.number, reason)
    }

    /// Asks who reports a trip at the moment, for example to show that another rider shares it.
    ///
    /// - Parameters:
    ///   - tripID: The GTFS trip id.
    ///   - startDate: The service date as `YYYYMMDD`; nil leaves the choice to the server.
    /// - Returns: The server's answer.
    /// - Throws: ``RideError`` when the server refuses or cannot be reached.
    public func tripStatus(tripID: String, startDate: String?) async throws -> TripStatus {
        try await authorized(announcingTo: nil) { [client] token in
            try await client.tripStatus(tripID: tripID, startDate: startDate, token: token)
        }
    }

    /// Throws when nobody waits for a start any more.
    func checkIsWanted(_ ends: Int) throws(CancellationError) {
        if Task.isCancelled || ends != endCount { throw CancellationError() }
    }

    // MARK: - Registration

    /// Runs a call with the rider's token, registering before it if needed and once after a 401.
    private func authorized<Answer: Sendable>(
        announcingTo events: AsyncStream<RideEvent>.Continuation?,
        _ call: @Sendable (_ token: String) async throws -> Answer
    ) async throws -> Answer {
        let token = try await token(announcingTo: events)
        do {
            return try await call(token)
        } catch RideError.notAuthorized {
            forgetToken(token)
            return try await call(try await self.token(announcingTo: events))
        }
    }

    private func token(
        announcingTo events: AsyncStream<RideEvent>.Continuation?
    ) async throws -> String {
        var credentials = credentialStore.load() ?? RiderCredentials(installationID: UUID())
        if let token = credentials.token { return token }
        // Kept before the server hears of it, so that a lost answer makes no second rider.
        credentialStore.save(credentials)
        let answer = try await client.register(
            installationID: credentials.installationID,
            appID: configuration.appID,
            appVersion: configuration.appVersion
        )
        credentials.riderID = answer.riderID
        credentials.token = answer.token
        credentialStore.save(credentials)
        events?.yield(.registered(riderID: answer.riderID))
        return answer.token
    }

    /// Forgets a token that was refused; the installation stays, only its proof is gone.
    ///
    /// Another call may have registered anew meanwhile: its token is not the refused one.
    func forgetToken(_ refused: String) {
        guard var credentials = credentialStore.load(), credentials.token == refused else { return }
        credentials.token = nil
        credentialStore.save(credentials)
    }

    // MARK: - Beginning

    static func makeEvents() -> (AsyncStream<RideEvent>, AsyncStream<RideEvent>.Continuation) {
        AsyncStream.makeStream(of: RideEvent.self, bufferingPolicy: .bufferingNewest(eventLimit))
    }

    private func install(
        _ answer: RideAnswer,
        at address: RideAddress,
        events: AsyncStream<RideEvent>.Continuation
    ) {
        install(
            address,
            state: answer.state,
            uploads: UploadSchedule(
                intervalSeconds: answer.reportIntervalSeconds,
                batchSize: answer.maxBatchSize,
                failureTimeout: configuration.uploadFailureTimeout,
                honorsRetryAfter: configuration.honorsRetryAfter
            ),
            conditions: EndConditions(
                configuration: configuration,
                destination: answer.destination.map {
                    Coordinate(latitude: $0.latitude, longitude: $0.longitude)
                },
                startedAt: clock.now
            ),
            events: events
        )
    }

    /// Makes a ride the running one.
    func install(
        _ address: RideAddress,
        state: RideState,
        uploads: UploadSchedule,
        conditions: EndConditions,
        events: AsyncStream<RideEvent>.Continuation
    ) {
        rideCount += 1
        let number = rideCount
        ride = Ride(
            number: number,
            address: address,
            state: state,
            uploads: uploads,
            conditions: conditions,
            events: events,
            activity: locationSource.beginBackgroundActivity()
        )
        events.yield(.started(rideID: address.rideID))
        keepRide()
        ride?.tasks = [
            Task { await self.followLocations(number) },
            Task { await self.runTicks(number) },
        ]
    }

    /// Closes a ride that the server began for a caller who has gone.
    private nonisolated func abandon(_ ride: RideAddress) {
        let farewell = FinalFlush(
            client: client,
            clock: clock,
            ride: ride,
            batches: [],
            reason: .appTerminated
        )
        Task.detached { _ = await farewell.send() }
    }
}

/// A ride while it runs; the reporter's own.
struct Ride {
    /// Tells a ride from the one before it, so that late answers find the wrong door closed.
    let number: Int
    let address: RideAddress
    var state: RideState
    var uploads: UploadSchedule
    var conditions: EndConditions
    let events: AsyncStream<RideEvent>.Continuation
    let activity: any BackgroundActivityHandle
    var pointsAccepted = 0
    /// When the journal heard of the ride last.
    var keptAt = Date.distantPast
    var hasWarnedOfAccuracy = false
    var hasWarnedOfUse = false
    var tasks: [Task<Void, Never>] = []
    /// The upload of a full batch; periodic ones run in the tick task.
    var upload: Task<Void, Never>?
    /// Set once the ride is ending; whoever ends it again waits for this.
    var ending: Task<Void, Never>?
}
