/// Why a ride ended, by its wire name.
public enum EndReason: String, Sendable, CaseIterable {
    /// Rejected: most of the failed points were too far from the shape.
    case offRoute = "off_route"
    /// Rejected: the trusted vehicle was elsewhere.
    case contradicted
    /// Rejected: most of the failed points moved backwards or too fast.
    case implausible
    /// Rejected: most of the failed points were outside the schedule's window.
    case offSchedule = "off_schedule"
    /// The rider stopped sharing.
    case userRequested = "user_requested"
    /// The rider reached the destination.
    case arrived
    /// The rider stopped moving.
    case stationary
    /// The ride reached the longest time, by the phone's clock or ours.
    case maxDuration = "max_duration"
    /// The phone has no position.
    case locationUnavailable = "location_unavailable"
    /// The rider took the permission away.
    case authorizationDenied = "authorization_denied"
    /// The phone could not reach the service.
    case networkFailure = "network_failure"
    /// The app was ended.
    case appTerminated = "app_terminated"
    /// The rider started another ride.
    case superseded
    /// No accepted point for too long.
    case idle
    /// The ride could not be resumed after a restart.
    case serverRestart = "server_restart"

    /// The reasons that a client may send; a verdict on the rider is never the rider's to give.
    public static let clientReportable: Set<EndReason> = [
        .userRequested, .arrived, .stationary, .maxDuration, .locationUnavailable,
        .authorizationDenied, .networkFailure, .appTerminated,
    ]

    /// Reads a reason that a client sent.
    ///
    /// - Parameter clientName: The wire name.
    /// - Returns: The reason, or nil for an unknown name and for a reason that only the service gives.
    public static func reported(_ clientName: String) -> EndReason? {
        guard let reason = EndReason(rawValue: clientName) else { return nil }
        return clientReportable.contains(reason) ? reason : nil
    }

    /// Whether the rules ended the ride because they do not believe it.
    public var isRejection: Bool {
        switch self {
        case .offRoute, .contradicted, .implausible, .offSchedule: true
        default: false
        }
    }

    /// Whether the ride counts among the rider's rides and in the score.
    public var countsForReputation: Bool { self != .serverRestart }
}
