internal import Messages
internal import ServiceKit
internal import Transit

extension RelayCore {
    // MARK: - Opening

    /// A socket has come.
    func open(_ session: Session) {
        opening[session.account, default: []].append(session)
        unclaimed.append(session)
        fetch.want(account: session.account)
        drawClaims()
    }

    private func drawClaims() {
        guard !isDrawing, !unclaimed.isEmpty else { return }
        isDrawing = true
        effects.append(.drawClaims(unclaimed.count))
    }

    /// Claims were drawn, or with nil could not be; then it is tried again at the next tick.
    func drew(_ claims: [UInt64]?, at now: Moment) {
        isDrawing = false
        guard let claims else { return }
        let served = unclaimed.prefix(claims.count)
        unclaimed = Array(unclaimed.dropFirst(served.count))
        for (session, claim) in zip(served, claims) where session.phase == .opening {
            session.claim = claim
            activate(session, at: now)
        }
        drawClaims()
    }

    /// Lets a socket take part when it has its claim and its groups are known.
    func activate(_ session: Session, at now: Moment) {
        guard session.phase == .opening, session.claim > 0, session.hasViews else { return }
        if endedSessions.covers(session.account, session.claim) {
            // While this one waited for its views a later socket's session has ended: relays drop what comes by such
            // a claim.
            session.claim = 0
            unclaimed.append(session)
            return drawClaims()
        }
        forgetOpening(session)
        if let other = sessions[session.account] {
            guard other.claim < session.claim else { return close(session, .replaced) }
            close(other, .replaced)
        }
        if let elsewhere = remote.claim(of: session.account), elsewhere > session.claim {
            return close(session, .replaced)
        }
        session.phase = .open
        sessions[session.account] = session
        if let budget = budgets.removeValue(forKey: session.account) { session.budget = budget }
        for group in groupsOfMember[session.account] ?? [] { connect(session, to: group) }
        effects.append(.publish(part: RelayPresence.part(of: session.account)))
        effects.append(.resume(session))
    }

    private func forgetOpening(_ session: Session) {
        guard var list = opening.removeValue(forKey: session.account) else { return }
        list.removeAll { $0 === session }
        if !list.isEmpty { opening[session.account] = list }
    }

    func connect(_ session: Session, to group: HeldGroup) {
        group.connected.append(session)
        session.groups.append(group)
    }

    // MARK: - Closing

    /// Closes a socket: it takes part in nothing from now on.
    ///
    /// Others hear `left` for each group that it had joined, unless the rider goes on elsewhere. A group
    /// that it was taken away from is none of its groups any more, and has said it itself.
    func close(_ session: Session, _ reason: CloseReason) {
        guard session.phase != .closed else { return }
        effects.append(.close(session, reason))
        metrics.closed(reason)
        switch reason {
        case .replaced, .restart: retire(session, .unnoticed)
        case .sessionEnded: retire(session, .sessionEnded)
        default: retire(session, .gone)
        }
    }

    /// A socket has gone by itself.
    func vanished(_ session: Session) {
        guard session.phase != .closed else { return }
        metrics.vanished()
        retire(session, .gone)
    }

    /// What others notice of a socket that is closed.
    private enum Retirement { case unnoticed, gone, sessionEnded }

    private func retire(_ session: Session, _ retirement: Retirement) {
        let wasOpen = session.phase == .open
        session.phase = .closed
        if let question = session.question { questions.remove(question) }
        session.question = nil
        forgetOpening(session)
        guard wasOpen, sessions[session.account] === session else {
            releaseGroups(of: session.account)
            return
        }
        sessions[session.account] = nil
        budgets[session.account] = session.budget
        let hasEnded = retirement == .sessionEnded
        for group in session.groups {
            group.disconnect(session)
            guard retirement != .unnoticed else { continue }
            depart(
                session.account,
                from: group,
                wasJoined: session.joined.contains(group.id),
                hasSessionEnded: hasEnded
            )
        }
        if retirement != .unnoticed { tellDeparture(of: session, hasSessionEnded: hasEnded) }
        switch retirement {
        case .unnoticed: break
        case .gone: departed.add(session)
        case .sessionEnded: ended(session, joined: Array(session.joined))
        }
        session.groups = []
        session.joined = []
        effects.append(.publish(part: RelayPresence.part(of: session.account)))
        releaseGroups(of: session.account)
    }

    /// What others see when someone's socket is gone.
    ///
    /// - Parameters:
    ///   - account: Who.
    ///   - group: Where.
    ///   - wasJoined: Whether the socket had joined the group.
    ///   - hasSessionEnded: Whether what waits for slow clients is taken back, too.
    func depart(
        _ account: UniqueID,
        from group: HeldGroup,
        wasJoined: Bool,
        hasSessionEnded: Bool = false
    ) {
        // Connected means sharing: without a socket nobody is shown there to who comes later.
        if group.sharesWhileConnected { group.known[account] = nil }
        group.dropWaiting(of: account)
        if hasSessionEnded {
            for session in group.connected where session.account != account {
                session.outbox.takeBack(account, in: group.id, keepsStored: true)
            }
        }
        if wasJoined { sayLeft(account, in: group) }
    }

    /// Tells those who joined the group that someone is not seen there any more.
    func sayLeft(_ account: UniqueID, in group: HeldGroup) {
        var frame: [UInt8]?
        for session in group.connected
        where session.account != account && session.joined.contains(group.id) {
            let bytes = frame ?? ServerFrame.left(account, group: group.id)
            frame = bytes
            send(bytes, to: session, about: group.id)
        }
    }

    /// Lets go of groups in which nobody here is a member any more.
    func releaseGroups(of account: UniqueID) {
        release((groupsOfMember[account] ?? []).filter { !isNeeded($0) })
    }

    /// Lets go of a group unless someone here, or about to be here, is a member.
    func releaseUnneeded(_ group: HeldGroup) {
        if !isNeeded(group) { release([group]) }
    }

    private func isNeeded(_ group: HeldGroup) -> Bool {
        !group.connected.isEmpty || group.members.keys.contains { opening[$0] != nil }
    }

    /// Lets go of groups, with one pass over the list of each member however many groups go.
    func release(_ gone: [HeldGroup]) {
        var accounts: Set<UniqueID> = []
        for group in gone {
            groups[group.id] = nil
            accounts.formUnion(group.members.keys)
        }
        for account in accounts { removeIndex(account) { groups[$0.id] !== $0 } }
    }

    /// Takes groups off the list of a member's.
    func removeIndex(_ account: UniqueID, where isGone: (HeldGroup) -> Bool) {
        guard var list = groupsOfMember.removeValue(forKey: account) else { return }
        list.removeAll(where: isGone)
        if !list.isEmpty { groupsOfMember[account] = list }
    }
}
