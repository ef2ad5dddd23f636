internal import FoundationEssentials
internal import VehiclePositionsKit

/// Waits out a server that is busy, as a person would: they tap again a little later.
///
/// Uploads are not touched, the kit has its own rules for them. A 429 or 503 to any other call is
/// asked again after `Retry-After`; a server that does not answer is given some time to come up.
struct PatientTransport: RideTransport {
    /// In all, for one call; a registration window is a minute.
    static let patience = Duration.seconds(300)
    /// In all, for a server that cannot be reached.
    static let connectionPatience = Duration.seconds(60)
    /// What the kit must grant one call: the patience and a last try.
    static let longestCall = patience + .seconds(30)
    /// When the server does not say how long.
    static let pause = Duration.seconds(5)
    /// A longer `Retry-After` is cut to this.
    static let longestPause = Duration.seconds(60)

    let base: any RideTransport
    let clock: any RideClock
    let say: @Sendable (String) -> Void

    func send(_ request: RiderRequest, baseURL: URL) async throws -> RiderResponse {
        if request.path.hasSuffix("/positions") {
            return try await base.send(request, baseURL: baseURL)
        }
        var waited = Duration.zero
        while true {
            do {
                let answer = try await base.send(request, baseURL: baseURL)
                let pause = min(
                    max(answer.retryAfter ?? Self.pause, .seconds(1)),
                    Self.longestPause
                )
                guard [429, 503].contains(answer.status), waited + pause <= Self.patience else {
                    return answer
                }
                say("the server answers \(answer.status), waiting \(pause.components.seconds) s")
                waited += pause
                try await clock.sleep(for: pause)
            } catch let error as RideError {
                throw error
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                guard !Task.isCancelled, waited + Self.pause <= Self.connectionPatience else {
                    throw error
                }
                say("no answer, trying again in \(Self.pause.components.seconds) s")
                waited += Self.pause
                try await clock.sleep(for: Self.pause)
            }
        }
    }
}
