import Messages
import ServiceKit
import TestKit
import Testing
import Transit

@testable import RelayService

/// When a session ends, no relay shows its member once the caller has the answer (decision 0094).
@Suite struct EndedSessionTests {
    private let anna = UniqueID.random()
    private let ben = UniqueID.random()
    private let cleo = UniqueID.random()

    @Test(arguments: [false, true], [false, true])
    func `what a session that ended left on its way to another relay is not shown`(
        joins: Bool,
        convoy: Bool
    ) {
        for holdsNews in [false, true] {
            let fleet = CoreFleet(relays: 3)
            let group = fleet.group([anna, ben, cleo], convoy: convoy)
            let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
            for client in joins ? [a, b] : [b] { client.join(group) }
            a.locate(1)
            _ = b.take()
            fleet.holdsNews = holdsNews
            if holdsNews {
                a.locate(2)
                if joins { a.vote(group) }
            }
            fleet.status[anna] = .revoked
            fleet.checkSessions()
            #expect(a.closeReason == .sessionEnded)
            // Now the caller has the answer.
            #expect(b.takeTypes() == (joins ? ["left"] : []))
            let c = fleet.client(cleo, at: 1)
            c.join(group)
            #expect(c.takePositions() == (convoy ? [:] : [anna: 1]))
            fleet.releaseNews()
            fleet.advance(by: .seconds(1))
            #expect(b.take().isEmpty && c.take().isEmpty)
            let dropped = b.relay.count("relay_dropped_total{reason=\"session_ended\"}")
            // A circle has no votes.
            #expect(dropped == (holdsNews ? joins && convoy ? 2 : 1 : 0))
        }
    }

    @Test func `who closes the socket and signs out a moment later is not shown either`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [a, b] { client.join(group) }
        a.locate(1)
        _ = b.take()
        fleet.holdsNews = true
        a.locate(2)
        a.vanish()
        fleet.status[anna] = .revoked
        fleet.checkSessions()
        let c = fleet.client(cleo, at: 1)
        c.join(group)
        #expect(c.takeTypes() == ["joined"])
        fleet.releaseNews()
        #expect(b.takeTypes() == ["left"])
        #expect(c.takeTypes() == ["left"])
        // It is told once.
        #expect(a.relay.core.departed.count == 0)
    }

    @Test(arguments: [false, true])
    func `what waits for a slow client is taken back, here and elsewhere`(vanishes: Bool) {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b, c) = (
            fleet.client(anna, at: 0), fleet.client(ben, at: 1), fleet.client(cleo, at: 0)
        )
        for client in [a, b, c] { client.join(group) }
        for client in [b, c] {
            _ = client.take()
            client.isStopped = true
        }
        a.locate(1)
        a.vote(group)
        if vanishes { a.vanish() }
        fleet.status[anna] = .revoked
        fleet.checkSessions()
        for client in [b, c] { client.isStopped = false }
        fleet.settle()
        #expect(b.takeTypes() == ["left"])
        #expect(c.takeTypes() == ["left"])
    }

    @Test func `nothing is shown through a view that came after the session ended`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let b = fleet.client(ben, at: 1)
        b.join(group)
        _ = b.take()
        fleet.isTelling = false
        fleet.changed(group) { [cleo] in
            $0.members.append(GroupView.Member(accountID: cleo, sharingSinceMilliseconds: 0))
        }
        let c = fleet.client(cleo, at: 0)
        fleet.holdsAnswers = true
        // Here the view has no such member yet.
        c.locate(1)
        #expect(b.relay.core.groups[group]?.heldBack.count == 1)
        fleet.status[cleo] = .revoked
        fleet.checkSessions()
        fleet.release()
        #expect(b.relay.core.groups[group]?.members[cleo] != nil)
        #expect(b.takePositions() == [:])
    }

    @Test func `a fix over HTTP reaches no convoy of somebody whose departure is still on its way`()
    {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let b = fleet.client(ben, at: 1)
        _ = fleet.client(anna, at: 0)
        fleet.holdsNews = true
        fleet.status[anna] = .revoked
        fleet.checkSessions()
        let fix = MemberFix(
            latitude: 2,
            longitude: 8,
            timestampMilliseconds: fleet.now.milliseconds,
            receivedAtMilliseconds: fleet.now.milliseconds
        )
        let target = LiveFix.Target(groupID: group, version: 1, sharesWhileConnected: true)
        b.relay.core.hear(
            LiveFix(accountID: anna, fix: fix, ttlSeconds: 300, targets: [target]),
            at: fleet.now
        )
        fleet.settle()
        #expect(b.takePositions() == [:])
    }

    @Test func `who signs in again is seen at once`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let (first, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [first, b] { client.join(group) }
        _ = b.take()
        fleet.status[anna] = .revoked
        fleet.checkSessions()
        fleet.status = [:]
        for relay in [0, 1] {
            let again = fleet.client(anna, at: relay)
            again.join(group)
            _ = b.take()
            again.locate(3)
            again.vote(group)
            #expect(b.takeTypes() == ["positions", "spin_vote"])
        }
    }

    @Test func `an end that is told late takes nothing from a newer socket`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let (old, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [old, b] { client.join(group) }
        let new = fleet.client(anna, at: 1)
        new.join(group)
        new.locate(1)
        #expect(b.takePositions() == [anna: 1])
        let departure = RelayedDeparture(
            accountID: anna,
            claim: old.session.claim,
            groupIDs: [group],
            hasSessionEnded: true
        )
        b.relay.core.takeIn([departure])
        fleet.settle()
        #expect(b.take().isEmpty)
        #expect(new.closeReason == nil)
    }

    @Test func `a socket hears of its newer one by that one's end, too`() {
        let fleet = CoreFleet(relays: 2)
        _ = fleet.group([anna, ben])
        let old = fleet.client(anna, at: 0)
        old.relay.core.takeIn([
            RelayedDeparture(
                accountID: anna,
                claim: old.session.claim + 1,
                groupIDs: [],
                hasSessionEnded: true
            )
        ])
        fleet.settle()
        #expect(old.closeReason == .replaced)
    }

    // MARK: - Memory

    @Test func `what has ended is remembered for as long as a fix counts, and of so many`() {
        var ended = EndedSessions(limit: 100)
        #expect(!ended.covers(anna, 1))
        let adds = [(5, true), (5, false), (4, false)] as [(UInt64, Bool)]
        // Known, of this socket or a later one, it is no news.
        for (claim, isNews) in adds {
            let isAdded = ended.add(anna, claim)
            #expect(isAdded == isNews)
        }
        #expect(ended.covers(anna, 5) && ended.covers(anna, 4))
        #expect(!ended.covers(anna, 6) && !ended.covers(ben, 1))
        // What came over no socket is none of it.
        #expect(!ended.covers(anna, 0))
        ended.forget(at: 20_000_000_000)
        ended.forget(at: 39_999_999_999)
        #expect(ended.covers(anna, 5))
        ended.forget(at: 40_000_000_000)
        #expect(!ended.covers(anna, 5))
        for number in 1...1000 as ClosedRange<UInt64> {
            let account = UniqueID(high: 7, low: number)
            let isAdded = ended.add(account, number)
            #expect(isAdded)
            #expect(ended.covers(account, number))
            #expect(ended.count <= 200)
        }
        #expect(ended.count >= 100)
    }

    @Test func `a socket that waited while a later one's session ended is seen everywhere`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let b = fleet.client(ben, at: 1)
        b.join(group)
        let ended = RelayedDeparture(
            accountID: anna,
            claim: 5,
            groupIDs: [],
            hasSessionEnded: true
        )
        // Claims of others, so that the next ones are above those of this test.
        for _ in 0..<8 { _ = fleet.client(.random()) }
        let a = fleet.client(anna, at: 0) { core in
            _ = core.takeEffects()
            core.drew([3], at: fleet.now)
            for relay in fleet.relays { relay.core.takeIn([ended]) }
        }
        #expect(a.session.claim > 5)
        #expect(a.closeReason == nil)
        a.locate(1)
        #expect(b.takePositions() == [anna: 1])
    }

    @Test func `sockets that are gone are remembered for a time, and so many`() {
        var limits = RelayLimits()
        limits.rememberedDepartures = 3
        let fleet = CoreFleet(limits: limits)
        for _ in 0..<20 {
            fleet.client(.random()).vanish()
            #expect(fleet.relays[0].core.departed.count <= 6)
        }
        #expect(fleet.relays[0].core.departed.count >= 3)
        fleet.advance(by: .seconds(50))
        #expect(fleet.relays[0].core.departed.count == 0)
    }
}
