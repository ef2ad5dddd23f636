import Foundation
import VehiclePositionsKit

/// Which of the five calls a request is.
enum RiderCall: Hashable {
    case register
    case start
    case positions
    case end
    case status

    init(_ request: RiderRequest) {
        if request.path.hasSuffix("/register") {
            self = .register
        } else if request.path.hasSuffix("/positions") {
            self = .positions
        } else if request.path.hasSuffix("/end") {
            self = .end
        } else if request.path.hasSuffix("/status") {
            self = .status
        } else {
            self = .start
        }
    }
}

/// Answers from a script, records what was asked, and can leave a caller waiting.
actor FakeRideTransport: RideTransport {
    enum Reply {
        case answer(Int, String)
        /// An answer with what its headers say.
        case full(RiderResponse)
        case failure
        /// It gives the call up by itself.
        case givenUp
        /// No answer until ``release()`` or until the caller is cancelled.
        case held
        /// No answer, and cancelling does not help either.
        case deaf
    }

    private(set) var requests: [RiderRequest] = []
    private var scripts: [RiderCall: [Reply]] = [:]
    private var standing: [RiderCall: Reply] = [
        .register: .answer(201, FakeRideTransport.registered),
        .start: .answer(201, FakeRideTransport.started()),
        .positions: .answer(200, FakeRideTransport.accepted()),
        .end: .answer(200, FakeRideTransport.ended),
        .status: .answer(200, FakeRideTransport.status),
    ]
    private var held: [CheckedContinuation<Void, any Error>] = []
    private var waiters: [(RiderCall, Int, CheckedContinuation<Void, Never>)] = []

    func next(_ call: RiderCall, _ replies: Reply...) {
        scripts[call, default: []] += replies
    }

    func always(_ call: RiderCall, _ reply: Reply) {
        standing[call] = reply
    }

    func requests(_ call: RiderCall) -> [RiderRequest] {
        requests.filter { RiderCall($0) == call }
    }

    /// Returns once this many requests of the kind have arrived.
    func arrival(of call: RiderCall, count: Int = 1) async {
        guard requests(call).count < count else { return }
        await withCheckedContinuation { waiters.append((call, count, $0)) }
    }

    func release() {
        for continuation in held { continuation.resume() }
        held = []
    }

    func send(_ request: RiderRequest, baseURL: URL) async throws -> RiderResponse {
        requests.append(request)
        let call = RiderCall(request)
        for (kind, count, continuation) in waiters where requests(kind).count >= count {
            continuation.resume()
            waiters.removeAll { $0.0 == kind && $0.1 == count }
        }
        var reply = standing[call] ?? .failure
        if scripts[call]?.isEmpty == false, let scripted = scripts[call]?.removeFirst() {
            reply = scripted
        }
        switch reply {
        case .answer(let status, let body):
            return RiderResponse(status: status, body: Data(body.utf8))
        case .full(let response):
            return response
        case .failure:
            throw URLError(.networkConnectionLost)
        case .givenUp:
            throw CancellationError()
        case .held:
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { held.append($0) }
            } onCancel: {
                Task { await self.cancelHeld() }
            }
        case .deaf:
            try await withCheckedThrowingContinuation { held.append($0) }
        }
        guard case .answer(let status, let body) = standing[call] else {
            throw URLError(.networkConnectionLost)
        }
        return RiderResponse(status: status, body: Data(body.utf8))
    }

    private func cancelHeld() {
        for continuation in held { continuation.resume(throwing: URLError(.cancelled)) }
        held = []
    }
}

// MARK: - Bodies

extension FakeRideTransport {
    static let registered = """
        {"rider_id":"rider-1","token":"token-1","report_interval_seconds":5,"max_batch_size":12}
        """
    static let ended = """
        {"status":"ride ended",
         "summary":{"points":142,"matched":139,"corroborated":88,"duration_seconds":1260}}
        """
    static let status = """
        {"trip_id":"T1","start_date":"20260902","trusted":true,"rider_reported":false,"riders":0}
        """

    static func started(
        rideID: String = "ride-1",
        batch: Int = 12,
        destination: String = ""
    )
        -> String
    {
        """
        {"ride_id":"\(rideID)","state":"pending","report_interval_seconds":5,
         "max_batch_size":\(batch)\(destination.isEmpty ? "" : ",\"destination\":\(destination)")}
        """
    }

    static func accepted(state: String = "verified", ended: String = "") -> String {
        """
        {"state":"\(state)","published":true,"corroboration":"corroborated","accepted":2,
         "ignored":0,"off_route_streak":0,"ended":\(!ended.isEmpty),"end_reason":"\(ended)"}
        """
    }

    static func refusal(_ message: String) -> String { #"{"error":"\#(message)"}"# }
}
