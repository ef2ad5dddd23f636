internal import Messages
internal import Transit

/// Fixes that came over sockets, as one statement takes them: checked, and one of each account.
struct FixBatch {
    /// The latest of each account, by our clock.
    let fixes: [AccountFix]

    /// Checks what a relay sent.
    ///
    /// - Returns: nil when a fix is no position, which a relay of ours never sends.
    init?(_ fixes: [AccountFix]) {
        var latest: [UniqueID: MemberFix] = [:]
        for entry in fixes {
            guard var fix = entry.fix.checked else { return nil }
            if let other = latest[entry.accountID],
                other.receivedAtMilliseconds > fix.receivedAtMilliseconds
            {
                fix = other
            }
            latest[entry.accountID] = fix
        }
        self.fixes = latest.map { AccountFix(accountID: $0.key, fix: $0.value) }
    }
}
