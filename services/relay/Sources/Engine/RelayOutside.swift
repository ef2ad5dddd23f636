internal import Messages
internal import ServiceKit
internal import Telemetry

/// What a relay needs of its surroundings: the bus, the database, tokens and clocks.
struct RelayOutside: Sendable {
    /// Asks any groups; nil when none answers in time.
    let ask: @Sendable (GroupsRequest.Body) async -> GroupsReply.Body?
    /// Draws so many claims, in rising order; nil when the database is away.
    let drawClaims: @Sendable (Int) async -> [UInt64]?
    /// Says who is connected here.
    let publish: @Sendable (_ part: Int, [UInt8], TraceID) -> Void
    /// Tells another relay.
    let tell: @Sendable (_ relay: String, [UInt8], TraceID) -> Void
    /// Has other relays take in that sessions have ended; false when one did not confirm it in time.
    let tellEnds: @Sendable (_ relays: Set<String>, [RelayedDeparture]) async -> Bool
    /// The relays that live, this one left out.
    let livingRelays: @Sendable () -> Set<String>
    /// Verifies a token; nil for one that does not count.
    let claims: @Sendable (String) -> TokenClaims?
    /// Reads the revocations; false when that failed.
    let look: @Sendable () async -> Bool
    /// Whether a token still counts.
    let status: @Sendable (RevocationQuestion) -> RevocationStatus
    /// The application clock, POSIX milliseconds.
    let milliseconds: @Sendable () -> Int64
    /// What limits are measured with, monotonic nanoseconds.
    let uptime: @Sendable () -> UInt64
}
