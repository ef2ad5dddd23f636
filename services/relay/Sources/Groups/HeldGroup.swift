internal import Messages
internal import Transit

/// What a relay holds of a group in which one of its riders is a member: a view of one version, the
/// sockets that it concerns, and the fixes that are still alive.
final class HeldGroup {
    /// What waits until the view is fetched.
    enum HeldBack {
        /// A fix, and the number of its fan-out, so that nobody gets it twice.
        case fix(RelayedFix, serial: UInt64)
        case vote(RelayedVote)
        case event(PlaceEventNotice)

        var sender: UniqueID {
            switch self {
            case .fix(let fix, _): fix.accountID
            case .vote(let vote): vote.accountID
            case .event(let event): event.accountID
            }
        }
    }

    let id: UniqueID
    private(set) var version: UInt64 = 0
    private(set) var allowsVotes = false
    private(set) var sharesWhileConnected = false
    /// The accepted members.
    var members: [UniqueID: GroupView.Member] = [:]
    /// The open sockets of members here.
    var connected: [Session] = []
    /// The newest fix of each member who shares, as it went to this group.
    var known: [UniqueID: RelayedFix] = [:]
    /// The other relays where members have sockets; nil when it has to be found out.
    var interested: Set<String>?
    /// The newest version that somebody spoke of.
    var neededVersion: UInt64 = 0
    /// Since when the view may be wrong without anybody having spoken of a newer one, monotonic nanoseconds;
    /// nil when it may not.
    var suspectedAt: UInt64?
    /// When the view was last known to be current, monotonic nanoseconds.
    var confirmedAt: UInt64
    private(set) var heldBack: [HeldBack] = []

    init(_ id: UniqueID, at now: UInt64) {
        self.id = id
        confirmedAt = now
    }

    /// Whether the view is not the newest, so that nothing may be sent before it is fetched.
    var isStale: Bool { neededVersion > version || suspectedAt != nil || version == 0 }

    /// Takes over what a view says about the group itself.
    func take(_ view: GroupView, requestedAt: UInt64) {
        version = view.version
        allowsVotes = view.allowsVotes
        sharesWhileConnected = view.sharesWhileConnected
        confirmedAt = max(confirmedAt, requestedAt)
        if let since = suspectedAt, requestedAt >= since { suspectedAt = nil }
    }

    /// Keeps something until the view is fetched.
    ///
    /// - Returns: false when too much waits; it is dropped then.
    func holdBack(_ item: HeldBack, limit: Int) -> Bool {
        if case .fix(let fix, _) = item {
            heldBack.removeAll {
                if case .fix(let old, _) = $0 { old.accountID == fix.accountID } else { false }
            }
        }
        guard heldBack.count < limit else { return false }
        heldBack.append(item)
        return true
    }

    /// Takes what waited.
    func takeHeldBack() -> [HeldBack] {
        defer { heldBack = [] }
        return heldBack
    }

    /// Forgets what someone caused who may not be seen any more.
    ///
    /// - Parameters:
    ///   - account: The member.
    ///   - since: Fixes that were received since then stay, POSIX milliseconds; nil for none.
    func forget(_ account: UniqueID, before since: Int64? = nil) {
        known[account] = nil
        heldBack.removeAll { item in
            if let since, case .fix(let fix, _) = item, fix.receivedAtMilliseconds >= since {
                return false
            }
            return item.sender == account
        }
    }

    /// Drops what waits of someone whose socket is gone.
    ///
    /// Nobody is to see it behind their `left`. Events are stored and stay.
    func dropWaiting(of account: UniqueID) {
        heldBack.removeAll { item in
            if case .event = item { false } else { item.sender == account }
        }
    }

    /// Takes a socket off the list.
    func disconnect(_ session: Session) {
        guard let index = connected.firstIndex(where: { $0 === session }) else { return }
        connected.swapAt(index, connected.count - 1)
        connected.removeLast()
    }

    /// The newest fix of a member that may be shown now, and how long it counts.
    ///
    /// Of a group that keeps last fixes also the one that is stored.
    ///
    /// - Parameters:
    ///   - member: The member, as the view shows them.
    ///   - now: POSIX milliseconds.
    /// - Returns: The fix and the seconds that it still counts; nil when there is none to show.
    func aliveFix(of member: GroupView.Member, at now: Int64) -> (RelayedFix, Int)? {
        guard member.isSharing else { return nil }
        var newest = known[member.accountID]
        if !sharesWhileConnected, let stored = member.lastFix,
            stored.receivedAtMilliseconds > newest?.receivedAtMilliseconds ?? .min
        {
            newest = RelayedFix(
                stored,
                of: member.accountID,
                ttlSeconds: RelayLimits.postedTTLSeconds
            )
        }
        guard let newest, let rest = newest.remainingSeconds(at: now) else { return nil }
        return (newest, rest)
    }
}

extension RelayedFix {
    /// A fix as groups knows it.
    init(_ fix: MemberFix, of account: UniqueID, ttlSeconds: Int) {
        self.init(
            accountID: account,
            latitude: fix.latitude,
            longitude: fix.longitude,
            timestampMilliseconds: fix.timestampMilliseconds,
            receivedAtMilliseconds: fix.receivedAtMilliseconds,
            ttlSeconds: ttlSeconds,
            groups: []
        )
    }
}
