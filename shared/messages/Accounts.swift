public import Telemetry
public import Transit

/// A question about people, answered by any auth.
public struct AccountQuery: Equatable, Sendable {
    /// Most ids in one question: the members of a large group, twice over.
    public static let idLimit = 1000

    /// The kinds of question.
    public enum Body: Equatable, Sendable {
        /// The active member with this handle, whatever its case.
        case handle(String)
        /// The accounts with these ids, those of staff and the deactivated ones too.
        case ids([UniqueID])
    }

    /// The trace of the call that caused it.
    public var trace: TraceID
    /// What is asked.
    public var body: Body

    /// Makes a question.
    public init(trace: TraceID = .random(), body: Body) {
        self.trace = trace
        self.body = body
    }
}

/// The answer to an ``AccountQuery``.
public struct AccountAnswer: Equatable, Sendable {
    /// What others may know of an account.
    public struct Account: Equatable, Sendable {
        /// The account's id.
        public var id: UniqueID
        /// The member's handle; nil for staff without one.
        public var handle: String?
        /// The name as a driver or admin is shown; empty for members.
        public var name: String

        /// Makes an account.
        public init(id: UniqueID, handle: String?, name: String) {
            self.id = id
            self.handle = handle
            self.name = name
        }
    }

    /// The kinds of answer.
    public enum Body: Equatable, Sendable {
        /// Those that exist, in any order; an erased account is as one that never was.
        case accounts([Account])
        /// The database is away, or the question is too long; nothing is known.
        case unavailable
    }

    /// The trace of the question.
    public var trace: TraceID
    /// The answer.
    public var body: Body

    /// Makes an answer.
    public init(trace: TraceID, body: Body) {
        self.trace = trace
        self.body = body
    }
}

/// Tells an owner of data to forget an account; auth asks until the answer is clean.
public struct EraseAccount: Equatable, Sendable {
    /// The trace of the call that caused it.
    public var trace: TraceID
    /// The account.
    public var accountID: UniqueID
    /// When the erasure was asked for, POSIX seconds.
    public var receivedAt: UnixSeconds

    /// Makes a request.
    public init(trace: TraceID = .random(), accountID: UniqueID, receivedAt: UnixSeconds) {
        self.trace = trace
        self.accountID = accountID
        self.receivedAt = receivedAt
    }
}

/// The answer to ``EraseAccount``.
public struct EraseAccountAnswer: Equatable, Sendable {
    /// The trace of the request.
    public var trace: TraceID
    /// Whether nothing about the account is stored there any more; otherwise it is asked again.
    public var isClean: Bool

    /// Makes an answer.
    public init(trace: TraceID, isClean: Bool) {
        self.trace = trace
        self.isClean = isClean
    }
}

/// Asks an owner of data for what it stores about an account, part by part.
public struct AccountDataQuery: Equatable, Sendable {
    /// The trace of the call that caused it.
    public var trace: TraceID
    /// The account.
    public var accountID: UniqueID
    /// Where to go on, as the answer before said; empty at the beginning.
    public var cursor: String

    /// Makes a request.
    public init(trace: TraceID = .random(), accountID: UniqueID, cursor: String = "") {
        self.trace = trace
        self.accountID = accountID
        self.cursor = cursor
    }
}

/// The answer to ``AccountDataQuery``.
public struct AccountDataAnswer: Equatable, Sendable {
    /// What is answered.
    public enum Body: Equatable, Sendable {
        /// A piece of JSON in UTF-8, far below a message's limit, and where to go on, nil at the end:
        /// all pieces in a row are one JSON value.
        case part([UInt8], next: String?)
        /// The owner cannot read it now, or does not know the cursor.
        case unavailable
    }

    /// The trace of the request.
    public var trace: TraceID
    /// The answer.
    public var body: Body

    /// Makes an answer.
    public init(trace: TraceID, body: Body) {
        self.trace = trace
        self.body = body
    }
}
