internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit

/// What a relay decides: who is connected, who may see whom, and what goes to whom.
///
/// No socket, no bus and no clock: everything that happens comes in by a call with the moment at which it
/// happens, and what is to be done outside is a list of effects. What clients get lies in their outboxes.
/// Not thread-safe: the relay's thread alone calls it.
final class RelayCore {
    /// A moment on both clocks.
    struct Moment {
        /// Monotonic nanoseconds, for deadlines.
        var uptime: UInt64
        /// The application clock, POSIX milliseconds, for what others see.
        var milliseconds: Int64
    }

    /// What is to be done outside.
    enum Effect {
        /// Draw so many claims.
        case drawClaims(Int)
        /// May this account see that group now?
        case ask(UInt64, account: UniqueID, group: UniqueID)
        /// Fetch views.
        case fetch(groups: [UniqueID], accounts: [UniqueID])
        /// Fetch the versions of all groups of these accounts.
        case sweep([UniqueID])
        /// Store fixes in the circles of their senders.
        case store([AccountFix])
        /// Say who is connected here, one part of all accounts.
        case publish(part: Int)
        /// Tell another relay.
        case tell(String, RelayNews)
        /// Have every other relay take in that sessions have ended, and say so; the round's number.
        case tellEnds(UInt64, [RelayedDeparture])
        /// Look at the next frames of a socket.
        case resume(Session)
        /// Read which sessions have ended, after the standstill of this number.
        case look(UInt64)
        /// Close a socket.
        case close(Session, CloseReason)
    }

    let limits: RelayLimits
    let metrics: RelayMetrics
    /// Whether a token still counts.
    let status: (RevocationQuestion) -> RevocationStatus
    /// ``RelayLimits/viewLifetime`` in nanoseconds: each fix asks for it.
    private let viewLifetime: UInt64
    var effects: [Effect] = []
    /// Sockets with something to flush.
    var dirty: [Session] = []
    /// Those that are being flushed; the two lists take turns, so that neither is made anew.
    private var flushing: [Session] = []
    /// Sockets with positions that wait for others.
    var gathering: Gathering

    /// Sockets that have no claim yet, in the order in which they came.
    var unclaimed: [Session] = []
    var isDrawing = false
    /// Sockets that are not open yet, by rider.
    var opening: [UniqueID: [Session]] = [:]
    /// The open socket of each rider.
    var sessions: [UniqueID: Session] = [:]
    /// What is left of the budget of riders whose last socket is gone, until it is full again: a new
    /// socket brings no new one.
    var budgets: [UniqueID: FrameBudget] = [:]
    var questions = OpenQuestions()
    var groups: [UniqueID: HeldGroup] = [:]
    /// The held groups of each member, connected here or not.
    var groupsOfMember: [UniqueID: [HeldGroup]] = [:]
    var remote = RemoteSockets()
    var fetch = ViewFetch()
    var sweep: (accounts: Set<UniqueID>, sentAt: UInt64)?
    var sweptAt: UInt64 = 0
    /// Fixes for circles, the newest of each sender.
    var unstored: [UniqueID: MemberFix] = [:]
    var isStoring = false
    var storedAt: UInt64 = 0
    /// The second up to which expired tokens were looked for; none expires within one.
    var expirySecond: Int64 = 0
    var endedSessions: EndedSessions
    /// Sockets that went otherwise.
    var departed: RecentDepartures
    /// Sessions whose end other relays have to be told.
    var untold: [RelayedDeparture] = []
    var ends = EndRounds()
    /// Nobody can say which sessions have ended, so nothing is shown to anybody.
    var isBlind = false
    /// When the last turn began.
    var begunAt: Moment?
    /// After a standstill, until it is known which sessions ended meanwhile; nothing is shown to anybody.
    var awaitsLook = false
    var standstills: UInt64 = 0
    /// When the last of them ended, monotonic nanoseconds; 0 without any.
    var stoodStillAt: UInt64 = 0
    private var lastQuestion: UInt64 = 0
    private var lastFix: UInt64 = 0
    private var lastPosition: UInt64 = 0

    init(
        limits: RelayLimits,
        metrics: RelayMetrics,
        status: @escaping (RevocationQuestion) -> RevocationStatus
    ) {
        self.limits = limits
        self.metrics = metrics
        self.status = status
        viewLifetime = limits.viewLifetime.nanoseconds
        gathering = Gathering(limits)
        endedSessions = EndedSessions(limit: limits.rememberedDepartures)
        departed = RecentDepartures(limit: limits.rememberedDepartures)
    }

    /// Takes what is to be done outside.
    func takeEffects() -> [Effect] {
        var taken: [Effect] = []
        swap(&taken, &effects)
        return taken
    }

    /// Has the sockets flushed that have something to be flushed now.
    ///
    /// - Parameters:
    ///   - now: This moment.
    ///   - flush: Writes what waits for a socket; what that causes is flushed by the next call.
    /// - Returns: false when there was none.
    func flushDirty(at now: Moment, _ flush: (Session) -> Void) -> Bool {
        let gathered = gathering.take(at: now.uptime)
        if !gathered.isEmpty { metrics.gatherings.add() }
        for session in gathered { touch(session) }
        guard !dirty.isEmpty else { return false }
        swap(&dirty, &flushing)
        for session in flushing {
            session.isDirty = false
            session.isGathered = false
        }
        for session in flushing { flush(session) }
        flushing.removeAll(keepingCapacity: true)
        return true
    }

    func nextQuestion() -> UInt64 {
        lastQuestion += 1
        return lastQuestion
    }

    func nextFix() -> UInt64 {
        lastFix += 1
        return lastFix
    }

    func position(_ account: UniqueID, _ row: [UInt8]) -> Position {
        lastPosition += 1
        return Position(serial: lastPosition, account: account, row: row)
    }

    // MARK: - Outboxes

    /// Puts a frame into a socket's outbox; one that is full closes the socket.
    func send(
        _ bytes: [UInt8],
        to session: Session,
        about group: UniqueID? = nil,
        from sender: UniqueID? = nil,
        isStored: Bool = false
    ) {
        guard session.phase != .closed else { return }
        guard session.outbox.frameCount < limits.waitingFrames,
            session.outbox.frameBytes + bytes.count <= limits.waitingBytes
        else {
            close(session, .tooSlow)
            return
        }
        session.outbox.add(
            Outbox.Frame(bytes: bytes, group: group, sender: sender, isStored: isStored)
        )
        touch(session)
    }

    func touch(_ session: Session) {
        guard !session.isDirty else { return }
        session.isDirty = true
        dirty.append(session)
    }

    // MARK: - Groups

    /// Whether something may go to the members of a group now.
    func isUsable(_ group: HeldGroup, at now: Moment) -> Bool {
        guard !group.isStale, !isBlind, !awaitsLook else { return false }
        return now.uptime - min(now.uptime, group.confirmedAt) <= viewLifetime
    }

    /// Keeps something for a group whose view is being fetched, or until it is known which sessions ended
    /// during a standstill; drops it for one that is silent.
    func holdBack(_ item: HeldGroup.HeldBack, for group: HeldGroup) {
        let isAwaited = group.isStale || awaitsLook
        let isHeld = isAwaited && group.holdBack(item, limit: limits.heldBack)
        if !isHeld { metrics.dropped(.silentGroup) }
    }

    /// Notes that a group has a newer version than the one held.
    func need(_ version: UInt64, of group: HeldGroup) {
        guard version > max(group.version, group.neededVersion) else { return }
        group.neededVersion = version
        fetch.want(group: group.id)
    }
}
