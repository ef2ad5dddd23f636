internal import Messages
internal import ServiceKit
internal import Transit

/// One open socket's side of the protocol; touched by the relay's thread alone.
final class Session {
    /// How far a socket has come.
    enum Phase {
        /// It waits for its claim and for the groups of its rider; nothing is read yet.
        case opening
        /// It takes part.
        case open
        /// It is closed, or about to be; nothing more is done for it.
        case closed
    }

    /// What a socket waits for before its next frame is looked at.
    struct Question {
        /// Why it was asked.
        enum Purpose {
            case join
            case ballot(RelayedVote.Ballot)
        }

        let id: UInt64
        let purpose: Purpose
        let group: UniqueID
        /// Monotonic nanoseconds.
        let deadline: UInt64
        /// An answer of an older version of the group says nothing.
        var neededVersion: UInt64 = 0
        /// How often it was asked again for that.
        var repeats = 0
        /// The answer was yes, in this version, and the group's view is on its way.
        var awaitsView: UInt64?
    }

    /// The socket's number in this process.
    let number: Int32
    /// The rider.
    let account: UniqueID
    /// What the newest token says.
    var claims: TokenClaims {
        didSet { revocation = RevocationQuestion(claims) }
    }
    /// What is asked about it again and again.
    private(set) var revocation: RevocationQuestion
    /// Monotonic nanoseconds.
    let openedAt: UInt64
    /// Drawn from the fleet's sequence; 0 before.
    var claim: UInt64 = 0
    /// Whether the rider's groups have been fetched.
    var hasViews = false
    var phase = Phase.opening
    var budget: FrameBudget
    /// The groups of which this socket gets votes, events and departures.
    var joined: Set<UniqueID> = []
    /// The groups of the rider.
    var groups: [HeldGroup] = []
    var question: Question?
    var outbox = Outbox()
    /// Whether it is on the list of those to be flushed.
    var isDirty = false
    /// Whether it is among those whose positions wait for others.
    var isGathered = false
    /// The last fix that was put into the outbox.
    var lastFix: UInt64 = 0

    init(number: Int32, account: UniqueID, claims: TokenClaims, at now: UInt64) {
        self.number = number
        self.account = account
        self.claims = claims
        revocation = RevocationQuestion(claims)
        openedAt = now
        budget = FrameBudget(at: now)
    }

    /// Whether its next frame has to wait.
    var isReading: Bool { phase == .open && question == nil }
}
