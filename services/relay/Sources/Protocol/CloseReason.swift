/// Why a relay closes a socket; code and text of the close frame (decision 28 of the spec).
public enum CloseReason: String, CaseIterable, Sendable {
    /// The rider opened another socket.
    case replaced
    /// No membership is left that the socket was for.
    case membershipEnded = "membership_ended"
    /// The process stops.
    case restart
    /// Something failed on our side.
    case fault
    /// The session ended: signed out, expired, revoked, account gone.
    case sessionEnded = "session_ended"
    /// The client does not take what waits for it.
    case tooSlow = "too_slow"
    /// The client answers no ping.
    case noPong = "no_pong"

    /// The code of the close frame.
    public var code: UInt16 {
        switch self {
        case .replaced, .membershipEnded: 1000
        case .restart: 1001
        case .fault: 1011
        case .sessionEnded: 4001
        case .tooSlow: 4008
        case .noPong: 4010
        }
    }

    /// The text of the close frame.
    public var text: String {
        switch self {
        case .replaced: "replaced by a newer connection"
        case .membershipEnded: "membership ended"
        case .restart: "restarting"
        case .fault: "internal fault"
        case .sessionEnded: "session ended"
        case .tooSlow: "too slow"
        case .noPong: "no answer to pings"
        }
    }
}
