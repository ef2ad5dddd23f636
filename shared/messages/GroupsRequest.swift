public import Telemetry
public import Transit

/// What relays ask groups; any instance answers, and every request may be repeated.
public struct GroupsRequest: Equatable, Sendable {
    /// Names this request through all its repeats.
    public var requestID: UniqueID
    /// The trace of what caused it.
    public var trace: TraceID
    /// What is asked.
    public var body: Body

    /// Makes a request.
    public init(requestID: UniqueID = .random(), trace: TraceID = .random(), body: Body) {
        self.requestID = requestID
        self.trace = trace
        self.body = body
    }

    /// The kinds of request.
    public enum Body: Equatable, Sendable {
        /// May this account see that group now? Asked for each join and each vote.
        case membership(accountID: UniqueID, groupID: UniqueID)
        /// Whole views of the groups named and of those in which one of the accounts is a member.
        case views(groupIDs: [UniqueID], accountIDs: [UniqueID])
        /// The versions of the groups in which one of the accounts is a member; of all groups
        /// without accounts.
        case sweep(accountIDs: [UniqueID])
        /// Overwrites the last fixes of members in the circles to which they share.
        case storeFixes([AccountFix])
    }
}
