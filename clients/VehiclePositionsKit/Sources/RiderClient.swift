import ClientTransport
import Foundation

/// Builds the five calls of the rider API and reads their answers.
struct RiderClient: Sendable {
    let transport: any RideTransport
    let baseURL: URL
    let callTimeout: Duration
    let clock: any RideClock

    #if canImport(CoreLocation) && !os(macOS)
    static let platform = "ios"
    #else
    static let platform = "other"
    #endif

    func register(
        installationID: UUID,
        appID: String,
        appVersion: String
    ) async throws -> RegistrationAnswer {
        let body = RegistrationBody(
            installationID: installationID.uuidString.lowercased(),
            platform: Self.platform,
            appID: appID,
            appVersion: appVersion
        )
        let answer: RegistrationAnswer = try await call(
            "POST",
            "/api/v1/rider/register",
            body: body,
            token: nil
        )
        guard ServerSecurity.isToken(answer.token) else {
            throw RideError.decoding("the token is no token")
        }
        return answer
    }

    /// - Parameter orphan: Takes a ride that the server begins after nobody waits for it any more.
    func startRide(
        _ trip: TripDescriptor,
        token: String,
        orphan: @escaping @Sendable (RideAddress) -> Void = { _ in }
    ) async throws -> StartedRide {
        let request = RiderRequest(
            method: "POST",
            path: "/api/v1/rider/rides",
            body: try Self.encoder.encode(trip),
            bearerToken: token
        )
        let response = try await send(request) { late in
            if let ride = try? Self.ride(late, token: token) { orphan(ride.address) }
        }
        return try Self.ride(response, token: token)
    }

    private static func ride(_ response: RiderResponse, token: String) throws -> StartedRide {
        let answer: RideAnswer = try read(response)
        guard !answer.rideID.isEmpty else { throw RideError.decoding("the ride has no id") }
        let address = RideAddress(
            rideID: answer.rideID,
            token: token,
            acceptsGzip: response.acceptsGzip
        )
        return StartedRide(answer: answer, address: address)
    }

    /// Never throws: an upload has more outcomes than success and failure.
    func report(
        _ positions: [RiderPosition],
        of ride: RideAddress
    ) async -> UploadOutcome {
        let path = "/api/v1/rider/rides/\(PercentEncoding.segment(ride.rideID))/positions"
        // What cannot be written now cannot be written later either.
        guard let body = try? Self.encoder.encode(PositionsBody(positions: positions)) else {
            return .rejected(status: 0)
        }
        var request = RiderRequest(method: "POST", path: path, body: body, bearerToken: ride.token)
        if ride.acceptsGzip, body.count >= Gzip.smallestBytes {
            request.body = Gzip.compress(body)
            request.contentEncoding = "gzip"
        }
        do {
            return UploadOutcome(try await send(request))
        } catch is CancellationError {
            return .cancelled
        } catch {
            return .failed(retryAfter: nil)
        }
    }

    func endRide(
        _ rideID: String,
        reason: RideEndReason,
        token: String
    ) async throws -> RideSummary {
        let path = "/api/v1/rider/rides/\(PercentEncoding.segment(rideID))/end"
        do {
            let answer: EndAnswer = try await call(
                "POST",
                path,
                body: EndBody(reason: reason),
                token: token
            )
            return answer.summary
        } catch RideError.server(status: 409, message: _) {
            throw RideError.alreadyEnded
        }
    }

    func tripStatus(
        tripID: String,
        startDate: String?,
        token: String
    ) async throws -> TripStatus {
        let request = RiderRequest(
            method: "GET",
            path: "/api/v1/rider/trips/\(PercentEncoding.segment(tripID))/status",
            query: startDate.map { ["start_date": $0] } ?? [:],
            bearerToken: token
        )
        return try Self.read(try await send(request))
    }

    // MARK: - Sending and reading

    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    private func call<Answer: Decodable>(
        _ method: String,
        _ path: String,
        body: some Encodable,
        token: String?
    ) async throws -> Answer {
        let data = try Self.encoder.encode(body)
        let request = RiderRequest(method: method, path: path, body: data, bearerToken: token)
        return try Self.read(try await send(request))
    }

    /// A cancelled task sees `CancellationError`, whatever the transport makes of it, and at once;
    /// a transport that gives up by itself has failed.
    private func send(
        _ request: RiderRequest,
        late: @escaping @Sendable (RiderResponse) -> Void = { _ in }
    ) async throws -> RiderResponse {
        let deadline = Deadline(callTimeout) { [clock] in try await clock.sleep(for: $0) }
        do {
            return try await deadline.run { [transport, baseURL] in
                try await transport.send(request, baseURL: baseURL)
            } late: {
                late($0)
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            if let error = error as? RideError { throw error }
            if error is Deadline.Passed {
                throw RideError.transport("no answer within \(callTimeout)")
            }
            throw RideError.transport(String(describing: error))
        }
    }

    private static func read<Answer: Decodable>(_ response: RiderResponse) throws -> Answer {
        guard (200...299).contains(response.status) else {
            if response.status == 401 { throw RideError.notAuthorized }
            let refusal = try? JSONDecoder().decode(ErrorAnswer.self, from: response.body)
            throw RideError.server(status: response.status, message: refusal?.error ?? "")
        }
        do {
            return try JSONDecoder().decode(Answer.self, from: response.body)
        } catch {
            throw RideError.decoding(String(describing: error))
        }
    }
}

/// A ride that the server has begun.
struct StartedRide: Sendable {
    let answer: RideAnswer
    let address: RideAddress
}

/// Which ride a batch belongs to, and how its server is spoken to.
struct RideAddress: Sendable {
    let rideID: String
    let token: String
    let acceptsGzip: Bool
}

/// What became of one uploaded batch.
enum UploadOutcome: Equatable, Sendable {
    case accepted(PositionsAnswer)
    /// The server no longer runs the ride.
    case gone(RideEndReason)
    case unauthorized
    case throttled(retryAfter: Duration?)
    /// The batch is refused for good; 0 when the answer cannot be read.
    case rejected(status: Int)
    /// Worth another try: no answer, or a fault of the server.
    case failed(retryAfter: Duration?)
    case cancelled

    init(_ response: RiderResponse) {
        let refusal = try? JSONDecoder().decode(ErrorAnswer.self, from: response.body)
        switch response.status {
        case 200...299:
            let answer = try? JSONDecoder().decode(PositionsAnswer.self, from: response.body)
            self = answer.map(UploadOutcome.accepted) ?? .rejected(status: 0)
        case 401:
            self = .unauthorized
        case 404 where refusal?.error == "ride not found":
            self = .gone(.serverRestart)
        case 409:
            let reason = refusal?.endReason ?? ""
            self = .gone(reason.isEmpty ? .serverRestart : RideEndReason(fromServer: reason))
        case 429:
            self = .throttled(retryAfter: response.retryAfter)
        case 400...499:
            self = .rejected(status: response.status)
        default:
            self = .failed(retryAfter: response.retryAfter)
        }
    }
}
