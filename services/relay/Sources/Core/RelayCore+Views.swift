internal import Messages
internal import Telemetry
internal import Transit

extension RelayCore {
    // MARK: - Fetching

    /// Sends the next request for views, when there is something to ask.
    func fetchViews(at now: Moment) {
        let next = fetch.next(at: now.uptime) { account in opening[account] != nil }
        guard let request = next else { return }
        effects.append(.fetch(groups: Array(request.groups), accounts: Array(request.accounts)))
    }

    /// Groups has answered with views, or with nil could not.
    func fetched(_ views: [GroupView]?, at now: Moment) {
        guard let views else {
            metrics.viewsFailed.add()
            return fetch.fail(at: now.uptime, pause: .milliseconds(250))
        }
        guard let request = fetch.succeed() else { return }
        metrics.viewsFetched.add()
        for view in views {
            take(view, request, at: now)
        }
        let found = Set(views.map(\.groupID))
        for id in request.groups where !found.contains(id) {
            if let group = groups[id] { dissolve(group) }
            settleJoins(of: id, at: now)
        }
        for account in request.accounts {
            for session in opening[account] ?? [] {
                session.hasViews = true
                activate(session, at: now)
            }
        }
        fetchViews(at: now)
    }

    private func take(_ view: GroupView, _ request: ViewFetch.Request, at now: Moment) {
        let heard = request.heard[view.groupID] ?? 0
        let isConcerned = view.members.contains { member in
            sessions[member.accountID] != nil || opening[member.accountID] != nil
        }
        guard let group = groups[view.groupID] ?? (isConcerned ? hold(view, request) : nil) else {
            return
        }
        need(heard, of: group)
        guard view.version >= group.version else { return }
        apply(view, to: group, request)
        if group.isStale { fetch.want(group: group.id) }
        settleJoins(of: group.id, at: now)
        showHeldBack(of: group, at: now)
        releaseUnneeded(group)
    }

    private func hold(_ view: GroupView, _ request: ViewFetch.Request) -> HeldGroup {
        let group = HeldGroup(view.groupID, at: request.sentAt)
        // What was asked before a standstill says nothing about what happened during it.
        if request.sentAt < stoodStillAt { group.suspectedAt = stoodStillAt }
        groups[view.groupID] = group
        return group
    }

    /// Takes over a view: who is gone is taken away, who is new gets what there is.
    private func apply(_ view: GroupView, to group: HeldGroup, _ request: ViewFetch.Request) {
        let new = Dictionary(
            view.members.map { ($0.accountID, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        for (account, old) in group.members {
            guard let member = new[account] else {
                withdraw(account, from: group, .left)
                continue
            }
            // Who shares anew did not share for a while, though nobody told us.
            if old.isSharing, member.sharingSinceMilliseconds != old.sharingSinceMilliseconds {
                withdraw(account, from: group, .paused, before: member.sharingSinceMilliseconds)
            }
        }
        for account in new.keys where group.members[account] == nil {
            groupsOfMember[account, default: []].append(group)
            if let session = sessions[account] { connect(session, to: group) }
        }
        group.members = new
        group.take(view, requestedAt: request.sentAt)
        group.interested = nil
    }

    /// A group is gone, or nobody here is a member of it any more.
    private func dissolve(_ group: HeldGroup) {
        for account in Array(group.members.keys) { withdraw(account, from: group, .left) }
        release([group])
    }

    // MARK: - News from groups

    /// A group has a new version.
    func hear(_ change: GroupChange) {
        fetch.hear(change.groupID, change.version)
        voidAnswers(about: change.groupID, before: change.version)
        guard let group = groups[change.groupID] else { return }
        if change.isGone {
            dissolve(group)
        } else {
            need(change.version, of: group)
        }
    }

    /// Members are to be let go of; when this returns, nothing of them is on its way any more.
    func takeAway(_ withdrawals: [Withdrawal]) {
        for withdrawal in withdrawals {
            fetch.hear(withdrawal.groupID, withdrawal.version)
            voidAnswers(about: withdrawal.groupID, before: withdrawal.version)
            guard let group = groups[withdrawal.groupID] else { continue }
            // A view that is as new shows it already.
            guard withdrawal.version > group.version else { continue }
            withdraw(withdrawal.accountID, from: group, withdrawal.reason)
            need(withdrawal.version, of: group)
            releaseUnneeded(group)
        }
    }

    /// Someone may not be seen in a group any more, or may not see it.
    ///
    /// - Parameters:
    ///   - account: Who.
    ///   - group: Where.
    ///   - reason: Why.
    ///   - since: They may be seen again since then, POSIX milliseconds; nil when they may not.
    func withdraw(
        _ account: UniqueID,
        from group: HeldGroup,
        _ reason: Withdrawal.Reason,
        before since: Int64? = nil
    ) {
        group.forget(account, before: since)
        unstored[account] = nil
        for session in group.connected where session.account != account {
            session.outbox.takeBack(account, in: group.id)
        }
        guard let member = group.members[account] else { return }
        if reason == .paused {
            group.members[account]?.sharingSinceMilliseconds = nil
            group.members[account]?.lastFix = nil
            if member.isSharing { sayLeft(account, in: group) }
            return
        }
        group.members[account] = nil
        removeIndex(account) { $0 === group }
        group.interested = nil
        if let session = sessions[account] { expel(session, from: group) }
        sayLeft(account, in: group)
    }

    /// Takes a socket out of a group; without any membership left it is closed.
    private func expel(_ session: Session, from group: HeldGroup) {
        group.disconnect(session)
        session.groups.removeAll { $0 === group }
        session.outbox.takeBack(group: group.id)
        let wasJoined = session.joined.remove(group.id) != nil
        if session.joined.isEmpty, wasJoined || session.groups.isEmpty {
            close(session, .membershipEnded)
        }
    }

    // MARK: - The sweep

    /// Asks for the versions of all groups of the riders here.
    func startSweep(at now: Moment) {
        sweptAt = now.uptime
        guard sweep == nil, !sessions.isEmpty else { return }
        let accounts = Array(sessions.keys)
        sweep = (Set(accounts), now.uptime)
        effects.append(.sweep(accounts))
    }

    /// Groups has answered the sweep, or with nil could not; views that nobody confirms grow old.
    func swept(_ versions: [GroupVersion]?, at now: Moment) {
        guard let asked = sweep else { return }
        sweep = nil
        guard let versions else { return metrics.sweepsFailed.add() }
        var found: Set<UniqueID> = []
        for entry in versions {
            found.insert(entry.groupID)
            guard let group = groups[entry.groupID] else {
                fetch.want(group: entry.groupID)
                continue
            }
            if entry.version > max(group.version, group.neededVersion) { metrics.sweepFinds.add() }
            need(entry.version, of: group)
            if !group.isStale { group.confirmedAt = max(group.confirmedAt, asked.sentAt) }
        }
        for group in groups.values where !found.contains(group.id) {
            guard group.confirmedAt < asked.sentAt,
                group.connected.contains(where: { asked.accounts.contains($0.account) })
            else { continue }
            suspect(group, at: now)
            metrics.sweepFinds.add()
        }
        fetchViews(at: now)
    }

    /// The held view may be wrong: the group is silent until it was fetched anew.
    func suspect(_ group: HeldGroup, at now: Moment) {
        group.suspectedAt = now.uptime
        fetch.want(group: group.id)
    }
}
