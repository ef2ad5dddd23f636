internal import Telemetry
internal import Transit

/// Which views have to be fetched: one request at a time, with everything that came up meanwhile.
struct ViewFetch {
    /// A request that is under way.
    struct Request {
        let groups: Set<UniqueID>
        let accounts: Set<UniqueID>
        /// Monotonic nanoseconds.
        let sentAt: UInt64
        /// The versions that were heard of since: an older view in the answer is not current.
        var heard: [UniqueID: UInt64] = [:]
    }

    private var groups: Set<UniqueID> = []
    private var accounts: Set<UniqueID> = []
    private(set) var request: Request?
    private var notBefore: UInt64 = 0

    /// Asks for a group's view.
    mutating func want(group: UniqueID) { groups.insert(group) }

    /// Asks for the views of all groups of an account.
    mutating func want(account: UniqueID) { accounts.insert(account) }

    /// Notes that a group has a version, in case an older view is on its way.
    mutating func hear(_ group: UniqueID, _ version: UInt64) {
        guard let known = request?.heard[group] ?? (request == nil ? nil : 0) else { return }
        request?.heard[group] = max(version, known)
    }

    /// The next request, when there is something to ask and none is under way.
    mutating func next(at now: UInt64) -> Request? {
        guard request == nil, now >= notBefore, !groups.isEmpty || !accounts.isEmpty else {
            return nil
        }
        let next = Request(groups: groups, accounts: accounts, sentAt: now)
        request = next
        groups = []
        accounts = []
        return next
    }

    /// Ends the request that is under way, which was answered.
    mutating func succeed() -> Request? {
        defer { request = nil }
        return request
    }

    /// Puts the request back to be repeated after a pause.
    mutating func fail(at now: UInt64, pause: Duration) {
        guard let failed = request else { return }
        groups.formUnion(failed.groups)
        accounts.formUnion(failed.accounts)
        request = nil
        notBefore = now + pause.nanoseconds
    }
}
