internal import Transit

/// Whose session has ended lately: of an account's sockets up to the remembered claim nothing is shown any more.
///
/// Word of it may overtake fixes and votes on their way between relays. It is remembered for as long as a fix
/// counts, up to twice as long; of more accounts than the limit the oldest are forgotten sooner.
struct EndedSessions {
    private var young: [UniqueID: UInt64] = [:]
    private var old: [UniqueID: UInt64] = [:]
    private var age: Age

    /// Makes an empty memory.
    ///
    /// - Parameter limit: Accounts of one age; it holds two ages.
    init(limit: Int) { age = Age(limit: limit) }

    /// How many entries it holds.
    var count: Int { young.count + old.count }

    /// Remembers that a socket's session has ended.
    ///
    /// - Returns: false when that is known, of this socket or of a later one.
    mutating func add(_ account: UniqueID, _ claim: UInt64) -> Bool {
        guard !covers(account, claim) else { return false }
        young[account] = claim
        if young.count >= age.limit { turn() }
        return true
    }

    /// Whether what came over a socket is not to be shown any more.
    ///
    /// - Parameters:
    ///   - account: Whose it is.
    ///   - claim: The socket's claim; 0 for what came over no socket.
    /// - Returns: true when the session of that socket, or of a later one, has ended.
    func covers(_ account: UniqueID, _ claim: UInt64) -> Bool {
        // Mostly nothing is remembered, and every fix of another relay asks.
        if young.isEmpty, old.isEmpty { return false }
        return claim > 0 && claim <= max(young[account] ?? 0, old[account] ?? 0)
    }

    /// Forgets what is old.
    mutating func forget(at now: UInt64) {
        if age.isOver(at: now) { turn() }
    }

    private mutating func turn() {
        old = young
        young = [:]
    }
}

/// Sockets that are gone, whose session may turn out to have ended: many a phone closes its socket and signs
/// out a moment later.
///
/// Remembered for as long as ``EndedSessions``.
struct RecentDepartures {
    private var young: [Session] = []
    private var old: [Session] = []
    private var age: Age

    /// Makes an empty memory.
    ///
    /// - Parameter limit: Sockets of one age; it holds two ages.
    init(limit: Int) { age = Age(limit: limit) }

    /// How many sockets it holds.
    var count: Int { young.count + old.count }

    /// Remembers a socket.
    mutating func add(_ session: Session) {
        young.append(session)
        if young.count >= age.limit { turn() }
    }

    /// Takes out those whose session has ended.
    mutating func takeEnded(_ hasEnded: (Session) -> Bool) -> [Session] {
        let ended = old.filter(hasEnded) + young.filter(hasEnded)
        guard !ended.isEmpty else { return [] }
        let taken = Set(ended.map { ObjectIdentifier($0) })
        old.removeAll { taken.contains(ObjectIdentifier($0)) }
        young.removeAll { taken.contains(ObjectIdentifier($0)) }
        return ended
    }

    /// Forgets what is old.
    mutating func forget(at now: UInt64) {
        if age.isOver(at: now) { turn() }
    }

    private mutating func turn() {
        old = young
        young = []
    }
}

/// When a memory of two ages forgets the older one.
private struct Age {
    private static let lifetime = UInt64(RelayLimits.socketTTLSeconds) * 1_000_000_000

    let limit: Int
    private var began: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    mutating func isOver(at now: UInt64) -> Bool {
        guard now >= began + Self.lifetime else { return false }
        began = now
        return true
    }
}
