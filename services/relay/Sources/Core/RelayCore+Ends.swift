internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit

/// Sessions that end (decision 0094).
extension RelayCore {
    /// Closes the sockets whose session was ended, and has the other relays take it in.
    ///
    /// Those of sockets that were closed lately are looked at, too, and those of others' sockets: their relay may
    /// be dead or stand still, and tells nobody (decision 0098).
    func checkSessions() {
        var isBlind = false
        for session in Array(sessions.values) + opening.values.joined() {
            switch status(session.revocation) {
            case .valid: continue
            case .revoked: close(session, .sessionEnded)
            case .unknown: isBlind = true
            }
        }
        self.isBlind = isBlind
        // Their departure was told; that their session has ended is new.
        for session in departed.takeEnded({ status($0.revocation) == .revoked }) {
            let departure = RelayedDeparture(
                accountID: session.account,
                claim: session.claim,
                groupIDs: [],
                hasSessionEnded: true
            )
            untold.append(departure)
            end(departure)
        }
        for account in remote.accounts where groupsOfMember[account] != nil {
            endRemote(of: account)
        }
        tellEnds()
    }

    /// Shows nothing more of an account's socket at another relay when its session has ended.
    ///
    /// `left` is left to that relay, which knows what the socket had joined.
    func endRemote(of account: UniqueID) {
        guard let claim = remote.findEnded(of: account, status),
            newestClaim(of: account) <= claim
        else { return }
        for group in groupsOfMember[account] ?? [] {
            depart(account, from: group, wasJoined: false, hasSessionEnded: true)
        }
    }

    /// Whether what came over a socket is not to be shown any more, as its session has ended.
    func hasEnded(_ account: UniqueID, _ claim: UInt64) -> Bool {
        endedSessions.covers(account, claim) || remote.hasEnded(account, claim)
    }

    /// Closes the sockets whose token has expired.
    func closeExpired(at now: Moment) {
        let seconds = now.milliseconds / 1000
        guard seconds != expirySecond else { return }
        expirySecond = seconds
        for session in Array(sessions.values) where session.claims.expiresAt <= seconds {
            close(session, .sessionEnded)
        }
        tellEnds()
    }

    /// Notes that the session of a socket here has ended, which takes part in nothing any more.
    func ended(_ session: Session, joined: [UniqueID]) {
        _ = endedSessions.add(session.account, session.claim)
        untold.append(
            RelayedDeparture(
                accountID: session.account,
                claim: session.claim,
                groupIDs: joined,
                hasSessionEnded: true
            )
        )
    }

    /// Has the other relays take in what has ended, each round with an answer.
    private func tellEnds() {
        let size = RelayLimits.departuresPerRequest
        for start in stride(from: 0, to: untold.count, by: size) {
            let part = Array(untold[start..<min(start + size, untold.count)])
            effects.append(.tellEnds(ends.begin(), part))
        }
        untold = []
    }

    /// Sessions of sockets at another relay have ended: when this returns, nothing of them is on its way to a
    /// client, and what comes later is dropped.
    func takeIn(_ departures: [RelayedDeparture]) {
        for departure in departures { end(departure) }
    }

    func end(_ departure: RelayedDeparture) {
        let account = departure.accountID
        guard endedSessions.add(account, departure.claim) else { return }
        // The later socket has replaced it, though nobody told us.
        if let session = sessions[account], session.claim < departure.claim {
            close(session, .replaced)
        }
        guard newestClaim(of: account) <= departure.claim else { return }
        let joined = Set(departure.groupIDs)
        for group in groupsOfMember[account] ?? [] {
            depart(
                account,
                from: group,
                wasJoined: joined.contains(group.id),
                hasSessionEnded: true
            )
        }
    }

    /// The highest claim of an account's sockets, here or elsewhere; 0 without any.
    func newestClaim(of account: UniqueID) -> UInt64 {
        max(sessions[account]?.claim ?? 0, remote.claim(of: account) ?? 0)
    }
}
