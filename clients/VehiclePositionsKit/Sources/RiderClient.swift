import Foundation

/// Builds the five calls of the rider API and reads their answers.
struct RiderClient: Sendable {
    let transport: any RideTransport
    let baseURL: URL

    #if os(iOS)
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
        return try await call("POST", "/api/v1/rider/register", body: body, token: nil)
    }

    func startRide(_ trip: TripDescriptor, token: String) async throws -> RideAnswer {
        try await call("POST", "/api/v1/rider/rides", body: trip, token: token)
    }

    /// Never throws: an upload has more outcomes than success and failure.
    func report(_ positions: [RiderPosition], rideID: String, token: String) async -> UploadOutcome
    {
        let path = "/api/v1/rider/rides/\(PercentEncoding.segment(rideID))/positions"
        do {
            let body = try Self.encoder.encode(PositionsBody(positions: positions))
            let request = RiderRequest(method: "POST", path: path, body: body, bearerToken: token)
            return UploadOutcome(try await send(request))
        } catch is CancellationError {
            return .cancelled
        } catch {
            return .failed
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

    /// A cancelled task sees `CancellationError`, whatever the transport made of it.
    private func send(_ request: RiderRequest) async throws -> RiderResponse {
        do {
            return try await transport.send(request, baseURL: baseURL)
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            if let error = error as? RideError { throw error }
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
    case failed
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
            self = .failed
        }
    }
}
