internal import Messages
internal import Transit

/// Where riders have sockets at other relays, as those say.
struct RemoteSockets {
    private struct Relay {
        let epoch: UInt64
        var parts: [Int: [UniqueID: UInt64]] = [:]
    }

    /// What a part that was heard changed.
    struct Change {
        /// Accounts that have a socket there now, with the new or newer claim.
        var came: [RelayPresence.Entry] = []
        /// Accounts that have none there any more.
        var went: [UniqueID] = []
    }

    private var relays: [String: Relay] = [:]
    private var claims: [UniqueID: [String: UInt64]] = [:]

    /// The relays at which an account has a socket.
    func relays(of account: UniqueID) -> some Collection<String> {
        (claims[account] ?? [:]).keys
    }

    /// The highest claim of an account's sockets elsewhere; nil without any.
    func claim(of account: UniqueID) -> UInt64? { claims[account]?.values.max() }

    /// How many accounts have a socket elsewhere.
    var count: Int { claims.count }

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
            entries.map { ($0.accountID, $0.claim) },
            uniquingKeysWith: { first, second in max(first, second) }
        )
        record.parts[part] = new
        relays[relay] = record
        for (account, claim) in new where old[account] != claim {
            claims[account, default: [:]][relay] = claim
            change.came.append(RelayPresence.Entry(accountID: account, claim: claim))
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
        claims[account]?[relay] = nil
        if claims[account]?.isEmpty ?? false { claims[account] = nil }
    }
}
