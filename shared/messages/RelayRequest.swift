public import Telemetry
public import Transit

/// What groups, auth and other relays ask a live relay, and wait for.
public struct RelayRequest: Equatable, Sendable {
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
        /// Let go of these at once; nothing goes to or from them in that group after the answer.
        case takeAway([Withdrawal])
        /// From auth: read the revocations now; sockets of ended sessions are closed when it is answered.
        case checkSessions
        /// From another relay: sessions of sockets there have ended; nothing of these sockets is shown after the answer.
        case departed([RelayedDeparture])
    }
}

/// A member who may not be seen in a group from now on.
public struct Withdrawal: Hashable, Sendable {
    /// Why; the raw value is the text on the wire.
    public enum Reason: String, CaseIterable, Sendable {
        /// The member left; also any reason of a newer release.
        case left
        /// The end of a friendship removed the member.
        case removed
        /// The member paused sharing, and still sees the others.
        case paused
        /// The account was erased.
        case erased
    }

    /// The group.
    public var groupID: UniqueID
    /// The member.
    public var accountID: UniqueID
    /// The group's version in which it is so; older views of the group are void.
    public var version: UInt64
    /// Why.
    public var reason: Reason

    /// Makes a withdrawal.
    public init(groupID: UniqueID, accountID: UniqueID, version: UInt64, reason: Reason) {
        self.groupID = groupID
        self.accountID = accountID
        self.version = version
        self.reason = reason
    }
}

/// What a relay answers to a ``RelayRequest``.
public struct RelayReply: Equatable, Sendable {
    /// The request that this answers.
    public var requestID: UniqueID
    /// The trace of the request.
    public var trace: TraceID
    /// The answer.
    public var body: Body

    /// Makes an answer.
    public init(requestID: UniqueID, trace: TraceID, body: Body) {
        self.requestID = requestID
        self.trace = trace
        self.body = body
    }

    /// Makes the answer to a request.
    public init(to request: RelayRequest, _ body: Body) {
        self.init(requestID: request.requestID, trace: request.trace, body: body)
    }

    /// The kinds of answer.
    public enum Body: Equatable, Sendable {
        /// Done: no traffic after this.
        case takenAway
        /// Done: every ended session's socket is closed, and the other relays know it.
        case sessionsChecked
        /// Done: nothing of these sockets is shown after this.
        case departuresTaken
        /// The relay could not do it.
        case refused
    }
}
