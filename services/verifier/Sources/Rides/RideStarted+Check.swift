internal import Messages
internal import Transit
internal import Verification

/// A refusal as an error, for `Result`.
struct StartRefusal: Error {
    let refusal: RideRefusal
}

extension RideStarted {
    /// Checks a start against the schedule, in the order of spec 2.2.
    ///
    /// - Returns: The ride to file, of a new rider until its row is read.
    static func check(
        _ request: StartRide,
        _ circumstances: Circumstances
    ) -> Result<ActiveRide, StartRefusal> {
        func refused(_ code: RideRefusal.Code) -> Result<ActiveRide, StartRefusal> {
            .failure(StartRefusal(refusal: RideRefusal(code)))
        }
        guard let index = circumstances.index else { return refused(.scheduleUnavailable) }
        guard let trip = index.trip(request.tripID) else { return refused(.unknownTrip) }
        let startDate =
            request.startDate ?? index.defaultStartDate(for: trip, at: circumstances.now)
        guard index.isActive(trip, on: startDate) else { return refused(.tripNotActive) }
        if let routeID = request.routeID, routeID != trip.routeID {
            return refused(.routeMismatch)
        }
        let session = Session(
            rideID: request.rideID,
            riderID: request.riderID,
            journey: Journey(
                trip: trip,
                startDate: startDate,
                startOfService: index.startOfService(on: startDate)
            ),
            startedAt: circumstances.now
        )
        let origin = WitnessOrigin(
            addressBlock: request.installation?.addressBlock,
            installedAt: request.installation?.installedAt,
            build: request.installation?.build
        )
        return .success(
            ActiveRide(
                session: session,
                tier: .new,
                routeID: trip.routeID,
                evidence: WitnessEvidence(origin: origin)
            )
        )
    }

    /// The answer to a start.
    init(_ ride: ActiveRide, _ request: StartRide) {
        let journey = ride.session.journey
        let stop = journey.trip.stopTimes.first { stopTime in
            !request.destinationStopID.isEmpty
                && stopTime.stopID == StopID(request.destinationStopID)
        }
        self.init(
            state: ride.session.state.rawValue,
            startDate: journey.startDate,
            routeID: ride.routeID,
            destination: stop.map { stop in
                Destination(
                    stopID: stop.stopID,
                    latitude: stop.coordinate.latitude,
                    longitude: stop.coordinate.longitude
                )
            }
        )
    }
}
