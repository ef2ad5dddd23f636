internal import Telemetry
internal import Transit

/// Which views have to be fetched: one request at a time, with everything that came up meanwhile.
///
/// What was in a request that failed is asked apart from what is new: in halves, twice as much after
/// each answer and half as much after each failure. So an outage is made good in few requests, and an
/// account that has too much to be fetched in time soon fails alone.
struct ViewFetch {
    /// A request that is under way.
    struct Request {
        let groups: Set<UniqueID>
        let accounts: Set<UniqueID>
        /// Monotonic nanoseconds.
        let sentAt: UInt64
        /// Whether it repeats what has failed.
        let isApart: Bool
        /// The versions that were heard of since: an older view in the answer is not current.
        var heard: [UniqueID: UInt64] = [:]
    }

    /// What can be asked for.
    fileprivate enum Want: Hashable {
        /// A group's view.
        case group(UniqueID)
        /// The views of all groups of an account.
        case account(UniqueID)
    }

    /// More that fail alone are no bad accounts but an outage, after which nobody is suspected.
    private static let suspectLimit = 64

    private var fresh: Set<Want> = []
    /// What failed and is to be asked in this round, and what failed in it and waits for the next.
    private var failed: Set<Want> = []
    private var failedAgain: Set<Want> = []
    /// What failed alone is not asked together with anything else until it was answered.
    private var suspects: Set<Want> = []
    /// How much of what failed is asked at once.
    private var portion = 1
    private var wasApart = false
    private(set) var request: Request?
    private var notBefore: UInt64 = 0

    /// Asks for a group's view.
    mutating func want(group: UniqueID) { want(.group(group)) }

    /// Asks for the views of all groups of an account.
    mutating func want(account: UniqueID) { want(.account(account)) }

    private mutating func want(_ want: Want) {
        guard !failed.contains(want), !failedAgain.contains(want) else { return }
        if suspects.contains(want) { failed.insert(want) } else { fresh.insert(want) }
    }

    /// Notes that a group has a version, in case an older view is on its way.
    mutating func hear(_ group: UniqueID, _ version: UInt64) {
        guard let known = request?.heard[group] ?? (request == nil ? nil : 0) else { return }
        request?.heard[group] = max(version, known)
    }

    /// The next request, when there is something to ask and none is under way.
    ///
    /// - Parameters:
    ///   - now: Monotonic nanoseconds.
    ///   - isAwaited: Whether somebody still waits for an account's groups; otherwise what failed is
    ///     not asked again.
    /// - Returns: The request; nil when there is none to be sent now.
    mutating func next(at now: UInt64, isAwaited: (UniqueID) -> Bool) -> Request? {
        guard request == nil, now >= notBefore else { return nil }
        // Every turn of the loop asks.
        if fresh.isEmpty, failed.isEmpty, failedAgain.isEmpty { return nil }
        var wants: Set<Want> = []
        if fresh.isEmpty || !wasApart { wants = takeFailed(isAwaited) }
        let isApart = !wants.isEmpty
        if !isApart { swap(&wants, &fresh) }
        guard !wants.isEmpty else { return nil }
        wasApart = isApart
        request = Request(wants, at: now, isApart: isApart)
        return request
    }

    private mutating func takeFailed(_ isAwaited: (UniqueID) -> Bool) -> Set<Want> {
        if failed.isEmpty {
            guard !failedAgain.isEmpty else { return [] }
            swap(&failed, &failedAgain)
            portion = max(1, failed.count / 2)
        }
        failed = failed.filter { want in
            if case .account(let account) = want { isAwaited(account) } else { true }
        }
        let others = failed.lazy.filter { [suspects] in !suspects.contains($0) }.prefix(portion)
        let wants = others.isEmpty ? Set(failed.prefix(1)) : Set(others)
        failed.subtract(wants)
        return wants
    }

    /// Ends the request that is under way, which was answered.
    mutating func succeed() -> Request? {
        guard let answered = request else { return nil }
        request = nil
        if answered.isApart { portion = max(portion, 2 * answered.wants.count) }
        if !suspects.isEmpty { suspects.subtract(answered.wants) }
        return answered
    }

    /// Puts the request back to be repeated after a pause.
    mutating func fail(at now: UInt64, pause: Duration) {
        guard let request else { return }
        let wants = request.wants
        if request.isApart, wants.count > 1 { portion = wants.count / 2 }
        if wants.count == 1 { suspects.formUnion(wants) }
        if suspects.count > Self.suspectLimit { suspects = [] }
        fresh.subtract(wants)
        failedAgain.formUnion(wants)
        self.request = nil
        notBefore = now + pause.nanoseconds
    }
}

extension ViewFetch.Request {
    fileprivate init(_ wants: Set<ViewFetch.Want>, at now: UInt64, isApart: Bool) {
        var groups: Set<UniqueID> = []
        var accounts: Set<UniqueID> = []
        for want in wants {
            switch want {
            case .group(let id): groups.insert(id)
            case .account(let id): accounts.insert(id)
            }
        }
        self.init(groups: groups, accounts: accounts, sentAt: now, isApart: isApart)
    }

    fileprivate var wants: Set<ViewFetch.Want> {
        Set(groups.map { .group($0) }).union(accounts.map { .account($0) })
    }
}
