internal import CLinux
internal import Glibc
internal import Telemetry
internal import Web

/// What time alone brings about: pings, clients that are stuck, figures.
extension RelayLoop {
    func tick() {
        tickedAt = now.uptime
        core.keepRelays(outside.livingRelays())
        if now.uptime >= checkedAt + limits.sweepInterval.nanoseconds {
            checkedAt = now.uptime
            core.checkSessions()
        }
        core.tick(at: now)
        if now.uptime >= walkedAt + limits.clientInterval.nanoseconds {
            walkedAt = now.uptime
            for connection in connections.values { tick(connection) }
        }
        metrics.openSockets.set(Double(connections.count))
        metrics.heldGroups.set(Double(core.groups.count))
        metrics.silentGroups.set(
            Double(core.groups.values.count { !core.isUsable($0, at: now) })
        )
        metrics.unfinishedBytes.set(Double(unfinishedBytes))
        metrics.queuedBytes.set(Double(queuedBytes))
        metrics.remoteRiders.set(Double(core.remote.count))
    }

    func tick(_ connection: Connection) {
        if let closing = connection.closing {
            if closing.deadline <= now.uptime { kill(connection) }
            return
        }
        let session = connection.session
        if let since = connection.stuckSince, now.uptime - since > limits.stuckLimit.nanoseconds {
            return core.close(session, .tooSlow)
        }
        if let since = connection.incompleteSince,
            now.uptime - since > limits.messageLimit.nanoseconds
        {
            return core.close(session, .tooSlow)
        }
        guard session.phase == .open, connection.nextPingAt <= now.uptime else { return }
        guard connection.unansweredPings < limits.missedPongs else {
            return core.close(session, .noPong)
        }
        connection.unansweredPings += 1
        connection.nextPingAt = now.uptime + limits.pingInterval.nanoseconds
        core.send(WebSocketFrame.ping, to: session)
    }
}
