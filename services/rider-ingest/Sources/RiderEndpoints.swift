internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// The riders' HTTP surface: reads and checks, asks the verifier, answers.
///
/// It holds no ride state.
struct RiderEndpoints: Sendable {
    let verifiers: VerifierClient
    /// The application clock.
    let now: @Sendable () -> UnixSeconds
    /// How often phones are told to report.
    var cadence = ReportCadence()

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(
                .post,
                "/api/v1/rider/rides",
                access: .roles([.rider]),
                bodyLimit: RiderLimits.bodyBytes,
                handler: start
            ),
            Endpoint(
                .post,
                "/api/v1/rider/rides/{id}/positions",
                access: .roles([.rider]),
                bodyLimit: RiderLimits.bodyBytes,
                // Every rider calls it every few seconds; metrics count it.
                logLevel: .debug,
                handler: report
            ),
            Endpoint(
                .post,
                "/api/v1/rider/rides/{id}/end",
                access: .roles([.rider]),
                bodyLimit: RiderLimits.bodyBytes,
                handler: end
            ),
            Endpoint(
                .get,
                "/api/v1/rider/trips/{trip_id}/status",
                access: .roles([.rider]),
                handler: tripStatus
            ),
        ]
    }

    // MARK: - Starting

    private func start(_ request: HTTPRequest) async throws -> HTTPResponse {
        let riderID = try request.riderID
        let body = try StartRideBody(try request.jsonObject())
        let slot = Slot(of: body.tripID)
        let start = StartRide(
            rideID: .ride(slot: slot),
            riderID: riderID,
            tripID: body.tripID,
            startDate: body.startDate,
            routeID: body.routeID,
            vehicleID: body.vehicleID,
            boardingStopID: body.boardingStopID,
            destinationStopID: body.destinationStopID,
            receivedAt: now(),
            installation: request.principal?.installation.map { facts in
                RiderInstallation(
                    addressBlock: facts.addressBlock,
                    installedAt: facts.installedAt,
                    build: facts.build
                )
            }
        )
        var reply = await verifiers.ask(.start(start), slot: slot, trace: request.trace)
        if case .conflict(let other) = reply {
            // One active ride per rider: the earlier one is ended in its own slot, then we try again.
            let supersede = SupersedeRide(rideID: other, riderID: riderID, receivedAt: now())
            let ended = await verifiers.ask(
                .supersede(supersede),
                slot: other.slot,
                trace: request.trace
            )
            if case .refused(let refusal) = ended, refusal.code == .unavailable {
                throw refusal.httpError
            }
            reply = await verifiers.ask(.start(start), slot: slot, trace: request.trace)
        }
        switch reply {
        case .started(let started): return answer(start.rideID, started)
        case .conflict:
            throw HTTPError(
                status: 409,
                code: "ride.active",
                message: "rider already has an active ride"
            )
        case .refused(let refusal): throw refusal.httpError
        default: throw HTTPError.failure
        }
    }

    private func answer(_ rideID: UniqueID, _ started: RideStarted) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.member("ride_id", rideID.description)
        json.member("state", started.state)
        json.member("report_interval_seconds", RiderLimits.reportIntervalSeconds)
        json.member("max_batch_size", RiderLimits.batchSize)
        if let destination = started.destination {
            json.key("destination")
            json.beginObject()
            json.member("stop_id", destination.stopID.rawValue)
            json.member("latitude", destination.latitude)
            json.member("longitude", destination.longitude)
            json.endObject()
        }
        json.endObject()
        var response = HTTPResponse.json(bytes: json.bytes, status: 201)
        // Said once for the ride: a phone packs its reports only for a server that reads them so
        // (RFC 9110, 12.5.3).
        response.headers.append(("Accept-Encoding", "gzip"))
        return response
    }

    // MARK: - Reporting

    private func report(_ request: HTTPRequest) async throws -> HTTPResponse {
        let riderID = try request.riderID
        let bytes = try request.jsonBytes()
        let points =
            try PositionReader.points(bytes)
            ?? ReportedPoint.points(of: try JSONObject(parsing: bytes))
        let rideID = try request.rideID
        let report = ReportPositions(
            rideID: rideID,
            riderID: riderID,
            points: points,
            receivedAt: now()
        )
        let reply = await verifiers.ask(
            .positions(report),
            slot: rideID.slot,
            trace: request.trace
        )
        switch reply {
        case .accepted(let batch):
            var json = JSONWriter()
            json.beginObject()
            json.member("state", batch.state)
            json.member("published", batch.published)
            json.member("corroboration", batch.corroboration)
            json.member("accepted", batch.accepted)
            json.member("ignored", batch.ignored)
            json.member("off_route_streak", batch.offRouteStreak)
            json.member("ended", batch.ended)
            json.member("end_reason", batch.endReason)
            // Beyond the seed: what others see of a published ride bears longer steps, and the
            // phone's radio rests in between.
            if !batch.ended {
                let seconds = cadence.seconds(after: points, isPublished: batch.published)
                json.member("report_interval_seconds", seconds)
            }
            json.endObject()
            return .json(bytes: json.bytes)
        case .refused(let refusal): throw refusal.httpError
        default: throw HTTPError.failure
        }
    }

    // MARK: - Ending

    /// The reasons that a phone may give (seed 4.4); all others are the service's own.
    private static let reasons: Set<String> = [
        "user_requested", "arrived", "stationary", "max_duration", "location_unavailable",
        "authorization_denied", "network_failure", "app_terminated",
    ]

    private func end(_ request: HTTPRequest) async throws -> HTTPResponse {
        let riderID = try request.riderID
        let body = try request.jsonObject()
        let reason = try body.string("reason") ?? ""
        try body.finish()
        guard Self.reasons.contains(reason) else {
            throw HTTPError.badRequest("unknown end reason", code: "reason.unknown")
        }
        let rideID = try request.rideID
        let end = EndRide(rideID: rideID, riderID: riderID, reason: reason, receivedAt: now())
        let reply = await verifiers.ask(.end(end), slot: rideID.slot, trace: request.trace)
        switch reply {
        case .ended(let summary):
            var json = JSONWriter()
            json.beginObject()
            json.member("status", "ride ended")
            json.key("summary")
            json.beginObject()
            json.member("points", summary.points)
            json.member("matched", summary.matched)
            json.member("corroborated", summary.corroborated)
            json.member("duration_seconds", summary.durationSeconds)
            json.endObject()
            json.endObject()
            return .json(bytes: json.bytes)
        case .refused(let refusal): throw refusal.httpError
        default: throw HTTPError.failure
        }
    }

    // MARK: - Looking

    private func tripStatus(_ request: HTTPRequest) async throws -> HTTPResponse {
        let tripID = TripID(request.parameter("trip_id"))
        let startDate = try ServiceDate(parameter: request.query.first("start_date") ?? "")
        let query = TripStatusQuery(tripID: tripID, startDate: startDate, receivedAt: now())
        let reply = await verifiers.ask(
            .tripStatus(query),
            slot: Slot(of: tripID),
            trace: request.trace
        )
        switch reply {
        case .tripStatus(let status):
            var json = JSONWriter()
            json.beginObject()
            json.member("trip_id", status.tripID.rawValue)
            json.member("start_date", status.startDate.description)
            json.member("trusted", status.trusted)
            json.member("rider_reported", status.riderReported)
            json.member("riders", status.riders)
            json.endObject()
            return .json(bytes: json.bytes)
        case .refused(let refusal): throw refusal.httpError
        default: throw HTTPError.failure
        }
    }
}

extension HTTPRequest {
    /// The rider who calls; a token whose subject is no rider's id is refused.
    fileprivate var riderID: UniqueID {
        get throws(HTTPError) {
            guard let principal, let id = UniqueID(principal.subject) else {
                throw .invalidToken
            }
            return id
        }
    }

    /// The ride of the path; what is no UUID was never a ride.
    fileprivate var rideID: UniqueID {
        get throws(HTTPError) {
            guard let id = UniqueID(parameter("id")) else { throw .rideNotFound }
            return id
        }
    }
}
