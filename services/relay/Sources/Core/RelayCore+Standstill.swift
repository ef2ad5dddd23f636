internal import Telemetry

extension RelayCore {
    /// A turn begins.
    func begin(at now: Moment) {
        noteStandstill(at: now)
        begunAt = now
    }

    /// Looks whether the relay stood still since the turn began or, as it does, since the one before.
    ///
    /// A relay that stood still (a paused machine, a stopped process) was waited for in vain: who left or
    /// signed out has their answer, while what they sent before lies here unread. So nothing is shown
    /// before it is known which sessions have ended meanwhile and the views were fetched anew.
    func noteStandstill(at now: Moment) {
        guard let last = begunAt else { return }
        // A paused machine's uptime may stand still with it.
        let gap = max(
            Int64(clamping: (now.uptime - min(now.uptime, last.uptime)) / 1_000_000),
            now.milliseconds - last.milliseconds
        )
        guard gap >= RelayLimits.standstillMilliseconds else { return }
        begunAt = now
        metrics.standstills.add()
        stoodStillAt = now.uptime
        for group in groups.values { group.suspectedAt = now.uptime }
        for session in sessions.values { session.outbox.takeBackPositions() }
        standstills += 1
        awaitsLook = true
        effects.append(.look(standstills))
    }

    /// The revocations were read after a standstill, or could not be; then they are read again.
    ///
    /// - Parameters:
    ///   - isDone: Whether they were read.
    ///   - standstill: After which standstill; a later one has a look of its own.
    ///   - now: This moment.
    func looked(_ isDone: Bool, after standstill: UInt64, at now: Moment) {
        guard standstill == standstills else { return }
        guard isDone else { return effects.append(.look(standstill)) }
        checkSessions()
        awaitsLook = false
        for group in groups.values where group.suspectedAt != nil { fetch.want(group: group.id) }
        // Views that came meanwhile waited for this.
        for id in Array(questions.groups) where groups[id] != nil { settleJoins(of: id, at: now) }
        for group in groups.values { showHeldBack(of: group, at: now) }
        fetchViews(at: now)
    }
}
