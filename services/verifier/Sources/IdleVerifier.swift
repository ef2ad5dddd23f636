internal import Database
internal import Messages
internal import Telemetry
internal import Transit

/// A verifier of a deployment without riders: it owns and judges nothing, but what is stored from
/// before can still be forgotten and read by whom it is about.
struct IdleVerifier: Sendable {
    let erasure: RiderErasure

    /// Answers a request; what needs riders is refused.
    func answer(_ body: [UInt8], trace: TraceID) async -> [UInt8] {
        guard let message = try? RideRequest(decoding: body) else {
            let failed = RideReply(
                requestID: .random(),
                trace: trace,
                body: .refused(RideRefusal(.invalid))
            )
            return failed.encoded()
        }
        let answer: RideReply.Body =
            switch message.body {
            case .eraseRider(let request): await erasure.erase(request)
            case .exportRider(let request): await erasure.export(request)
            default: .refused(.unavailable)
            }
        return RideReply(to: message, answer).encoded()
    }
}
