internal import Messages
internal import Transit

extension RelayCore {
    /// Where a fix comes from.
    enum Origin {
        /// A socket here: other relays have to be told.
        case here
        /// Another relay, or groups itself, which tells every relay.
        case elsewhere
    }

    /// A rider here says where they are.
    ///
    /// - Parameters:
    ///   - session: Their socket.
    ///   - location: Where.
    ///   - readAt: When it was read, the application clock, POSIX milliseconds.
    ///   - now: This moment.
    func locate(
        _ session: Session,
        _ location: ClientFrame.Location,
        readAt: Int64,
        at now: Moment
    ) {
        let fix = RelayedFix(
            accountID: session.account,
            latitude: location.latitude,
            longitude: location.longitude,
            headingDegrees: location.headingDegrees,
            speedKilometersPerHour: location.speedKilometersPerHour,
            timestampMilliseconds: location.timestampMilliseconds ?? readAt,
            receivedAtMilliseconds: readAt,
            ttlSeconds: RelayLimits.socketTTLSeconds,
            claim: session.claim,
            groups: []
        )
        show(fix, in: session.groups, from: .here, at: now)
        let isKept = session.groups.contains { group in
            !group.sharesWhileConnected && group.members[session.account]?.isSharing ?? false
        }
        guard isKept else { return }
        guard unstored.count < limits.waitingFixes || unstored[session.account] != nil else {
            return metrics.dropped(.unstored)
        }
        unstored[session.account] = MemberFix(
            latitude: fix.latitude,
            longitude: fix.longitude,
            accuracyMeters: location.accuracyMeters,
            timestampMilliseconds: fix.timestampMilliseconds,
            receivedAtMilliseconds: fix.receivedAtMilliseconds
        )
    }

    /// Shows a fix to every rider with a socket who may see it, once each.
    func show(_ fix: RelayedFix, in groups: [HeldGroup], from origin: Origin, at now: Moment) {
        let serial = nextFix()
        var fanOut = FanOut(fix: fix, serial: serial)
        for group in groups { show(&fanOut, in: group, from: origin, at: now) }
        tell(fanOut)
    }

    /// One fix on its way to everyone.
    struct FanOut {
        let fix: RelayedFix
        let serial: UInt64
        /// Whether it waited for a view.
        var hasWaited = false
        var position: Position?
        /// The groups that other relays have to know.
        var relayed: [HeldGroup] = []
    }

    func show(
        _ fanOut: inout FanOut,
        in group: HeldGroup,
        from origin: Origin,
        at now: Moment
    ) {
        let fix = fanOut.fix
        guard isUsable(group, at: now) else {
            return holdBack(.fix(fix, serial: fanOut.serial), for: group)
        }
        // What waited may be older than its sender's sharing.
        guard let member = group.members[fix.accountID],
            member.shares(receivedAt: fix.receivedAtMilliseconds)
        else { return }
        group.known[fix.accountID] = fix
        if case .here = origin { fanOut.relayed.append(group) }
        guard group.connected.count > 1 || sessions[fix.accountID] == nil else { return }
        let position: Position
        if let made = fanOut.position {
            position = made
        } else {
            guard let seconds = ttl(of: fanOut, at: now) else { return }
            position = self.position(fix.accountID, fix.row(ttlSeconds: seconds))
            fanOut.position = position
        }
        let isCrowd = gathering.patience(with: group.connected.count) > 0
        for session in group.connected
        where session.lastFix != fanOut.serial && session.account != fix.accountID {
            session.lastFix = fanOut.serial
            session.outbox.add(position)
            if isCrowd { gathering.add(session, at: now.uptime) } else { touch(session) }
        }
    }

    /// A fix of before counts for what is left of its time.
    private func ttl(of fanOut: FanOut, at now: Moment) -> Int? {
        fanOut.fix.isKnown || fanOut.hasWaited
            ? fanOut.fix.remainingSeconds(at: now.milliseconds) : fanOut.fix.ttlSeconds
    }

    // MARK: - Votes and events

    /// Brings a vote of a rider here to everyone who joined, here and at other relays.
    func spread(_ vote: RelayedVote, at now: Moment) {
        show(vote, at: now)
        guard let group = groups[vote.groupID] else { return }
        for relay in interestedRelays(group) {
            effects.append(.tell(relay, RelayNews(body: .vote(vote))))
        }
    }

    /// Brings a vote to everyone here who joined its group.
    func show(_ vote: RelayedVote, at now: Moment) {
        guard let group = groups[vote.groupID] else { return }
        need(vote.version, of: group)
        guard isUsable(group, at: now) else { return holdBack(.vote(vote), for: group) }
        guard group.allowsVotes, group.members[vote.accountID] != nil else {
            return metrics.dropped(.gate)
        }
        sendJoined(ServerFrame.vote(vote), in: group, from: vote.accountID)
    }

    /// Brings an arrival or a departure to everyone here who joined its group.
    func show(_ event: PlaceEventNotice, at now: Moment) {
        guard let group = groups[event.groupID] else { return }
        guard isUsable(group, at: now) else { return holdBack(.event(event), for: group) }
        guard group.members[event.accountID]?.isSharing ?? false else {
            return metrics.dropped(.gate)
        }
        let frame = ServerFrame.placeEvent(event)
        sendJoined(frame, in: group, from: event.accountID, isStored: true)
    }

    private func sendJoined(
        _ frame: [UInt8],
        in group: HeldGroup,
        from sender: UniqueID,
        isStored: Bool = false
    ) {
        for session in group.connected
        where session.account != sender && session.joined.contains(group.id) {
            send(frame, to: session, about: group.id, from: sender, isStored: isStored)
        }
    }

    /// What waited for a group's view goes on its way.
    func showHeldBack(of group: HeldGroup, at now: Moment) {
        guard !group.isStale, !awaitsLook else { return }
        for item in group.takeHeldBack() {
            switch item {
            case .event(let event): show(event, at: now)
            case .vote(let vote):
                guard !endedSessions.covers(vote.accountID, vote.claim) else { continue }
                show(vote, at: now)
            case .fix(let fix, let serial):
                guard !endedSessions.covers(fix.accountID, fix.claim) else { continue }
                var fanOut = FanOut(fix: fix, serial: serial, hasWaited: true)
                let isHere = sessions[fix.accountID] != nil && !fix.isKnown && fix.groups.isEmpty
                show(&fanOut, in: group, from: isHere ? .here : .elsewhere, at: now)
                tell(fanOut)
            }
        }
    }
}
