internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit

extension RelayCore {
    // MARK: - Who is where

    /// The relay begins: one part of nobody tells the others that an earlier process of its name is gone,
    /// and with it every socket that it had.
    func start() { effects.append(.publish(part: 0)) }

    /// What this relay says about one part of all accounts.
    func presence(part: Int) -> [RelayPresence.Entry] {
        var entries: [RelayPresence.Entry] = []
        for (account, session) in sessions where RelayPresence.part(of: account) == part {
            entries.append(
                RelayPresence.Entry(
                    accountID: account,
                    claim: session.claim,
                    session: session.revocation.mark
                )
            )
        }
        return entries.sorted { $0.accountID < $1.accountID }
    }

    /// Another relay says who is connected there.
    func hear(
        _ entries: [RelayPresence.Entry],
        part: Int,
        from relay: String,
        epoch: UInt64,
        at now: Moment
    ) {
        metrics.presenceHeard.add()
        let change = remote.hear(entries, part: part, from: relay, epoch: epoch)
        for account in change.went { lost(account) }
        for entry in change.came {
            if let session = sessions[entry.accountID], session.claim < entry.claim {
                close(session, .replaced)
            }
            endRemote(of: entry.accountID)
            for group in groupsOfMember[entry.accountID] ?? [] {
                let wasInterested = group.interested?.contains(relay) ?? false
                group.interested = nil
                if !wasInterested { tellKnown(of: group, to: relay, at: now) }
            }
        }
    }

    /// Relays that do not live any more have no sockets.
    func keepRelays(_ living: Set<String>) {
        for account in remote.keepOnly(living) { lost(account) }
    }

    /// An account has no socket any more at a relay where it had one; a relay that died told nobody.
    private func lost(_ account: UniqueID) {
        let isAway = !isConnected(account)
        for group in groupsOfMember[account] ?? [] {
            group.interested = nil
            if isAway { depart(account, from: group, wasJoined: false) }
        }
    }

    /// Whether an account has a socket here or, as other relays say, there.
    private func isConnected(_ account: UniqueID) -> Bool {
        if sessions[account] != nil { return true }
        guard let claim = remote.claim(of: account) else { return false }
        // That it is gone may be known before its relay says so.
        return !hasEnded(account, claim)
    }

    /// The other relays at which members of a group have sockets.
    func interestedRelays(_ group: HeldGroup) -> Set<String> {
        if let known = group.interested { return known }
        var relays: Set<String> = []
        for account in group.members.keys { relays.formUnion(remote.relays(of: account)) }
        group.interested = relays
        return relays
    }

    // MARK: - Telling

    /// Tells each interested relay of a fix, once, with the groups that concern it.
    func tell(_ fanOut: FanOut) {
        guard !fanOut.relayed.isEmpty else { return }
        var messages: [String: [GroupVersion]] = [:]
        for group in fanOut.relayed {
            let version = GroupVersion(groupID: group.id, version: group.version)
            for relay in interestedRelays(group) { messages[relay, default: []].append(version) }
        }
        for (relay, groups) in messages {
            var fix = fanOut.fix
            fix.groups = groups
            effects.append(.tell(relay, RelayNews(body: .fix(fix))))
            metrics.fixesTold.add()
        }
    }

    /// Tells a relay, which has only now someone of a group, where those are who have sockets here.
    private func tellKnown(of group: HeldGroup, to relay: String, at now: Moment) {
        // Everything else finds out by the view.
        guard interestedRelays(group).contains(relay), isUsable(group, at: now) else { return }
        for (account, fix) in group.known {
            guard let session = sessions[account],
                fix.remainingSeconds(at: now.milliseconds) != nil
            else { continue }
            var known = fix
            known.claim = session.claim
            known.isKnown = true
            known.groups = [GroupVersion(groupID: group.id, version: group.version)]
            effects.append(.tell(relay, RelayNews(body: .fix(known))))
        }
    }

    /// Tells the relays of those who may have seen it that a socket is gone.
    func tellDeparture(of session: Session, hasSessionEnded: Bool) {
        var messages: [String: RelayedDeparture] = [:]
        let none = RelayedDeparture(
            accountID: session.account,
            claim: session.claim,
            groupIDs: [],
            hasSessionEnded: hasSessionEnded
        )
        for group in session.groups {
            for relay in interestedRelays(group) {
                if session.joined.contains(group.id) {
                    messages[relay, default: none].groupIDs.append(group.id)
                } else {
                    messages[relay, default: none].unjoinedGroupIDs.append(group.id)
                }
            }
        }
        for (relay, departure) in messages {
            effects.append(.tell(relay, RelayNews(body: .departure(departure))))
        }
    }

    // MARK: - Hearing

    /// Another relay tells something; everything is judged by the views that are held here.
    func hear(_ news: RelayNews, at now: Moment) {
        switch news.body {
        case .fix(let fix):
            metrics.fixesHeard.add()
            guard !hasEnded(fix.accountID, fix.claim) else {
                return metrics.dropped(.sessionEnded)
            }
            let concerned = fix.groups.compactMap { version -> HeldGroup? in
                guard let group = groups[version.groupID] else { return nil }
                need(version.version, of: group)
                guard fix.isKnown else { return group }
                let known = group.known[fix.accountID]?.receivedAtMilliseconds ?? .min
                return known < fix.receivedAtMilliseconds ? group : nil
            }
            show(fix, in: concerned, from: .elsewhere, at: now)
        case .vote(let vote):
            guard !hasEnded(vote.accountID, vote.claim) else {
                return metrics.dropped(.sessionEnded)
            }
            show(vote, at: now)
        case .departure(let departure):
            guard !departure.hasSessionEnded else { return end(departure) }
            // The rider is back already, here or elsewhere.
            guard newestClaim(of: departure.accountID) <= departure.claim else { return }
            for (ids, wasJoined) in [
                (departure.groupIDs, true), (departure.unjoinedGroupIDs, false),
            ] {
                for group in ids.compactMap({ groups[$0] })
                where group.members[departure.accountID] != nil {
                    depart(departure.accountID, from: group, wasJoined: wasJoined)
                }
            }
        }
    }

    /// Groups tells of a fix that came over HTTP.
    func hear(_ fix: LiveFix, at now: Moment) {
        // Its sender may have signed out since the call began.
        if let mark = fix.session,
            status(RevocationQuestion(mark, of: fix.accountID)) == .revoked
        {
            return metrics.dropped(.sessionEnded)
        }
        let isConnected = isConnected(fix.accountID)
        let concerned = fix.targets.compactMap { target -> HeldGroup? in
            guard let group = groups[target.groupID] else { return nil }
            need(target.version, of: group)
            return target.sharesWhileConnected && !isConnected ? nil : group
        }
        let shown = RelayedFix(fix.fix, of: fix.accountID, ttlSeconds: fix.ttlSeconds)
        show(shown, in: concerned, from: .elsewhere, at: now)
    }
}
