internal import Messages
internal import ServiceKit
internal import Transit

/// Where riders have sockets at other relays, as those say.
struct RemoteSockets {
    private struct Relay {
        let epoch: UInt64
        var parts: [Int: [UniqueID: RelayPresence.Entry]] = [:]
    }

    private struct Socket {
        let claim: UInt64
        /// nil where its relay does not say whose session it is.
        let revocation: RevocationQuestion?
    }

    /// What a part that was heard changed.
    struct Change {
        /// Accounts that have a socket there now, with the new or newer claim.
        var came: [RelayPresence.Entry] = []
        /// Accounts that have none there any more.
        var went: [UniqueID] = []
    }

    private var relays: [String: Relay] = [:]
    private var sockets: [UniqueID: [String: Socket]] = [:]
    /// Up to which claim an account's sockets belong to sessions that have ended, as far as they are still said
    /// to be there.
    private var ended: [UniqueID: UInt64] = [:]

    /// The relays at which an account has a socket.
    func relays(of account: UniqueID) -> some Collection<String> {
        (sockets[account] ?? [:]).keys
    }

    /// The highest claim of an account's sockets elsewhere; nil without any.
    func claim(of account: UniqueID) -> UInt64? { sockets[account]?.values.map(\.claim).max() }

    /// The accounts that have a socket elsewhere.
    var accounts: some Collection<UniqueID> { sockets.keys }

    /// How many accounts have a socket elsewhere.
    var count: Int { sockets.count }

    /// Whether the session of a socket elsewhere was found to have ended, though its relay has not said so.
    func hasEnded(_ account: UniqueID, _ claim: UInt64) -> Bool {
        // Mostly there is none, and every fix of another relay asks.
        guard !ended.isEmpty, claim > 0, let last = ended[account] else { return false }
        return claim <= last
    }

    /// Finds out whether an account's sockets elsewhere belong to sessions that have ended.
    ///
    /// - Parameters:
    ///   - account: Whose sockets.
    ///   - status: Whether a token still counts.
    /// - Returns: The highest claim of those that have; nil when there is none that was not found before.
    mutating func findEnded(
        of account: UniqueID,
        _ status: (RevocationQuestion) -> RevocationStatus
    ) -> UInt64? {
        guard let sockets = sockets[account] else { return nil }
        var last: UInt64 = 0
        for socket in sockets.values where socket.claim > last {
            if let revocation = socket.revocation, status(revocation) == .revoked {
                last = socket.claim
            }
        }
        guard last > ended[account] ?? 0 else { return nil }
        ended[account] = last
        return last
    }

    /// Takes over one part of what a relay says.
    mutating func hear(
        _ entries: [RelayPresence.Entry],
        part: Int,
        from relay: String,
        epoch: UInt64
    ) -> Change {
        var change = Change()
        if let known = relays[relay], known.epoch != epoch { change.went = forget(relay) }
        var record = relays[relay] ?? Relay(epoch: epoch)
        let old = record.parts[part] ?? [:]
        let new = Dictionary(
            entries.map { ($0.accountID, $0) },
            uniquingKeysWith: { first, second in first.claim > second.claim ? first : second }
        )
        record.parts[part] = new
        relays[relay] = record
        for (account, entry) in new where old[account] != entry {
            sockets[account, default: [:]][relay] = Socket(
                claim: entry.claim,
                revocation: entry.session.map { RevocationQuestion($0, of: account) }
            )
            // Its rider may have shown a token of another session.
            ended[account] = nil
            change.came.append(entry)
        }
        for account in old.keys where new[account] == nil {
            remove(account, at: relay)
            change.went.append(account)
        }
        return change
    }

    /// Forgets relays that are not among the living.
    ///
    /// - Returns: The accounts that had sockets there.
    mutating func keepOnly(_ living: Set<String>) -> [UniqueID] {
        relays.keys.filter { !living.contains($0) }.flatMap { forget($0) }
    }

    private mutating func forget(_ relay: String) -> [UniqueID] {
        let accounts = relays.removeValue(forKey: relay)?.parts.values.flatMap(\.keys) ?? []
        for account in accounts { remove(account, at: relay) }
        return accounts
    }

    private mutating func remove(_ account: UniqueID, at relay: String) {
        sockets[account]?[relay] = nil
        guard sockets[account]?.isEmpty ?? false else { return }
        sockets[account] = nil
        ended[account] = nil
    }
}
