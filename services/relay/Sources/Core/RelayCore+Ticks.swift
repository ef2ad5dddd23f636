internal import Messages
internal import Telemetry
internal import Transit

extension RelayCore {
    /// Does what time alone brings about.
    func tick(at now: Moment) {
        settleLate(at: now)
        closeExpired(at: now)
        for session in opening.values.joined()
        where now.uptime - min(now.uptime, session.openedAt) > limits.openLimit.nanoseconds {
            close(session, .fault)
        }
        if !isDrawing, !unclaimed.isEmpty {
            isDrawing = true
            effects.append(.drawClaims(unclaimed.count))
        }
        fetchViews(at: now)
        if now.uptime - min(now.uptime, sweptAt) >= limits.sweepInterval.nanoseconds {
            forgetOldFixes(at: now)
            endedSessions.forget(at: now.uptime)
            departed.forget(at: now.uptime)
            budgets = budgets.filter { !$0.value.isFull(at: now.uptime) }
            startSweep(at: now)
        }
        if now.uptime - min(now.uptime, storedAt) >= limits.storeInterval.nanoseconds {
            storedAt = now.uptime
            storeFixes()
        }
    }

    private func forgetOldFixes(at now: Moment) {
        for group in groups.values {
            for (account, fix) in group.known
            where fix.remainingSeconds(at: now.milliseconds) == nil {
                group.known[account] = nil
            }
        }
    }

    // MARK: - Fixes for circles

    private func storeFixes() {
        guard !isStoring, !unstored.isEmpty else { return }
        isStoring = true
        effects.append(.store(unstored.map { AccountFix(accountID: $0.key, fix: $0.value) }))
        unstored.removeAll(keepingCapacity: true)
    }

    /// Groups has stored fixes, or could not: then the next ones of their senders heal it.
    ///
    /// They are not sent again: meanwhile someone may have paused, whose old fix must not come back.
    func stored(isDone: Bool) {
        isStoring = false
        if !isDone { metrics.storesFailed.add() }
    }
}
