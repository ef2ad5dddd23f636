import Glibc
import Messages
import Testing
import Transit

@testable import RelayService

/// Fetching views when it fails, and letting go of many (decision 0084).
@Suite struct ViewFetchTests {
    /// Views that are fetched on a clock of their own.
    private struct Fetching {
        var fetch = ViewFetch()
        private var now: UInt64 = 0

        /// Asks until nothing is left or so many requests were sent.
        ///
        /// - Returns: What each request was for, in turn.
        mutating func ask(
            requests limit: Int,
            isAwaited: (UniqueID) -> Bool = { _ in true },
            isAnswered: (ViewFetch.Request) -> Bool
        ) -> [Set<UniqueID>] {
            var asked: [Set<UniqueID>] = []
            while asked.count < limit, let request = fetch.next(at: now, isAwaited: isAwaited) {
                asked.append(request.accounts.union(request.groups))
                if isAnswered(request) {
                    _ = fetch.succeed()
                } else {
                    fetch.fail(at: now, pause: .milliseconds(250))
                    #expect(fetch.next(at: now, isAwaited: isAwaited) == nil)
                    now += 250_000_000
                }
            }
            return asked
        }

        mutating func want(_ accounts: [UniqueID]) {
            for account in accounts { fetch.want(account: account) }
        }
    }

    private func accounts(_ count: Int) -> [UniqueID] { (0..<count).map { _ in .random() } }

    @Test func `everything new is one request`() {
        var fetching = Fetching()
        let accounts = accounts(1000)
        fetching.want(accounts)
        let group = UniqueID.random()
        fetching.fetch.want(group: group)
        let asked = fetching.ask(requests: 9) { _ in true }
        #expect(asked == [Set(accounts).union([group])])
    }

    @Test func `after an outage everything is asked again in few requests`() {
        var fetching = Fetching()
        let accounts = accounts(1000)
        fetching.want(accounts)
        _ = fetching.ask(requests: 40) { _ in false }
        let asked = fetching.ask(requests: 2000) { _ in true }
        #expect(asked.count < 60)
        #expect(asked.reduce(into: Set()) { $0.formUnion($1) } == Set(accounts))
    }

    @Test func `after a long outage nobody is suspected`() {
        var fetching = Fetching()
        let accounts = accounts(1000)
        fetching.want(accounts)
        _ = fetching.ask(requests: 1500) { _ in false }
        let asked = fetching.ask(requests: 2000) { _ in true }
        #expect(asked.count < 90)
        #expect(asked.reduce(into: Set()) { $0.formUnion($1) } == Set(accounts))
    }

    @Test(arguments: [2, 3, 40, 1000]) func `who fails is alone in the end and fails nobody`(
        count: Int
    ) throws {
        var fetching = Fetching()
        let accounts = accounts(count)
        let bad = try #require(accounts.randomElement())
        fetching.want(accounts)
        var answered: Set<UniqueID> = []
        var failures = 0
        _ = fetching.ask(requests: 200) { request in
            guard request.accounts.contains(bad) else {
                answered.formUnion(request.accounts)
                return true
            }
            if answered.count < count - 1 { failures += 1 }
            return false
        }
        #expect(answered == Set(accounts).subtracting([bad]))
        // The first request, then half as many each time.
        #expect(failures <= 14)
        // From now on whoever comes is not asked together with it, though it comes again.
        let late = self.accounts(3)
        fetching.want(late + [bad])
        for asked in fetching.ask(requests: 4, isAnswered: { !$0.accounts.contains(bad) })
        where asked.contains(bad) { #expect(asked == [bad]) }
        // Once it was answered it is one of all again.
        _ = fetching.ask(requests: 9) { _ in true }
        fetching.want(late + [bad])
        #expect(fetching.ask(requests: 9) { _ in true } == [Set(late + [bad])])
    }

    @Test func `what is new does not wait for all that has failed`() {
        var fetching = Fetching()
        fetching.want(accounts(100))
        _ = fetching.ask(requests: 1) { _ in false }
        let new = UniqueID.random()
        fetching.want([new])
        #expect(fetching.ask(requests: 2) { _ in true }.contains([new]))
    }

    @Test func `for whom nobody waits any more is not asked again, and groups are`() {
        var fetching = Fetching()
        let group = UniqueID.random()
        fetching.fetch.want(group: group)
        fetching.want(accounts(10))
        _ = fetching.ask(requests: 1) { _ in false }
        let asked = fetching.ask(
            requests: 9,
            isAwaited: { _ in false },
            isAnswered: { _ in true }
        )
        #expect(asked == [[group]])
    }

    // MARK: - In a relay

    @Test func `an account with too much to fetch is closed and nobody else`() {
        let fleet = CoreFleet()
        let (anna, ben, cleo, dan) = (
            UniqueID.random(), UniqueID.random(), UniqueID.random(), UniqueID.random()
        )
        let group = fleet.group([ben, cleo, dan])
        _ = fleet.group([anna])
        fleet.tooMuch = [anna]
        // All three come while a request is under way, so that the next one is for all of them.
        fleet.holdsAnswers = true
        _ = fleet.client(dan)
        let (a, b, c) = (fleet.client(anna), fleet.client(ben), fleet.client(cleo))
        fleet.release()
        fleet.advance(by: .seconds(2))
        for client in [b, c] {
            client.join(group)
            #expect(client.takeTypes() == ["joined"])
        }
        fleet.advance(by: .seconds(4))
        #expect(a.closeReason == .fault)
        #expect([b.closeReason, c.closeReason] == [nil, nil])
        // Nobody waits for it any more.
        let fetches = fleet.fetches
        fleet.advance(by: .seconds(5))
        #expect(fleet.fetches == fetches)
        fleet.tooMuch = []
        let again = fleet.client(anna)
        fleet.advance(by: .seconds(1))
        again.locate(1)
        #expect(again.closeReason == nil)
        #expect(again.session.phase == .open)
    }

    @Test func `letting go of an account's groups takes time by their number alone`() {
        let fleet = CoreFleet()
        let anna = UniqueID.random()
        for _ in 0..<8000 { _ = fleet.group([anna, .random()], convoy: true) }
        let client = fleet.client(anna)
        #expect(client.relay.core.groups.count == 8000)
        let start = Self.processorSeconds
        client.vanish()
        // With a pass over all groups for each of them it is many times that.
        #expect(Self.processorSeconds - start < 1)
        #expect(client.relay.core.groups.isEmpty && client.relay.core.groupsOfMember.isEmpty)
    }

    /// What this thread has used of a processor: a busy machine makes it no longer.
    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
