import Messages
import ServiceKit
import TestKit
import Testing
import Transit

@testable import RelayService

/// Two relays and more act as one (architecture, section 6).
@Suite struct ManyRelaysTests {
    private let anna = UniqueID.random()
    private let ben = UniqueID.random()
    private let cleo = UniqueID.random()

    @Test func `a fix crosses once for each interested relay, with all its groups`() {
        let fleet = CoreFleet(relays: 3)
        _ = fleet.group([anna, ben, cleo])
        _ = fleet.group([anna, ben], convoy: true)
        let (a, b, c) = (
            fleet.client(anna, at: 0), fleet.client(ben, at: 1), fleet.client(cleo, at: 1)
        )
        a.locate(1)
        #expect(b.takePositions() == [anna: 1])
        #expect(c.takePositions() == [anna: 1])
        #expect(fleet.relays[0].count("relay_fixes_told_total") == 1)
        #expect(fleet.relays[1].count("relay_fixes_heard_total") == 1)
        #expect(fleet.relays[2].count("relay_fixes_heard_total") == 0)
        b.locate(2)
        #expect(a.takePositions() == [ben: 2])
        #expect(c.takePositions() == [ben: 2])
    }

    @Test func `votes and departures cross`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [a, b] {
            client.join(group)
            _ = client.take()
        }
        a.vote(group, 2)
        #expect(b.take().first?["index"].int == 2)
        a.vanish()
        let left = b.take()
        #expect(left.map(\.type) == ["left"])
        #expect(left.first?["groupId"].id == group)
    }

    /// A phone may send without having joined (decision 27: connected means sharing).
    @Test(arguments: [false, true], [false, true])
    func `who is gone is shown nowhere to who comes later`(joins: Bool, isKilled: Bool) {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let circle = fleet.group([anna, ben, cleo])
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        b.join(group)
        if joins { a.join(group) }
        a.locate(1)
        #expect(b.takePositions() == [anna: 1])
        if isKilled { fleet.crash(0) } else { a.vanish() }
        #expect(b.takeTypes() == (joins && !isKilled ? ["left"] : []))
        let c = fleet.client(cleo, at: isKilled ? 0 : 1)
        c.join(group)
        #expect(c.takeTypes() == ["joined"])
        // A circle goes on showing where someone was last.
        c.join(circle)
        #expect(c.takePositions() == [anna: 1])
    }

    @Test func `who loses the last joined group is shown in the others to nobody who comes later`()
    {
        for relay in [0, 1] {
            let fleet = CoreFleet(relays: 2)
            let joined = fleet.group([anna, ben, cleo], convoy: true)
            let other = fleet.group([anna, ben, cleo], convoy: true)
            let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: relay))
            a.join(joined)
            a.locate(1)
            fleet.changed(joined, withdrawing: .left, of: anna)
            #expect(a.closeReason == .membershipEnded)
            _ = b.take()
            let c = fleet.client(cleo, at: relay)
            c.join(other)
            #expect(c.takeTypes() == ["joined"])
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `nothing that waits for a view is shown behind a departure`(joins: Bool, convoy: Bool) {
        for signsOut in [false, true] {
            for relay in [0, 1] {
                let fleet = CoreFleet(relays: 2)
                let group = fleet.group([anna, ben, cleo], convoy: convoy)
                let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: relay))
                for client in joins ? [a, b] : [b] { client.join(group) }
                _ = b.take()
                fleet.holdsAnswers = true
                fleet.change(group)
                fleet.settle()
                a.locate(1)
                a.vote(group)
                if signsOut {
                    fleet.status[anna] = .revoked
                    fleet.checkSessions()
                } else {
                    a.vanish()
                }
                #expect(b.takeTypes() == (joins ? ["left"] : []))
                fleet.release()
                fleet.advance(by: .seconds(1))
                #expect(b.take().isEmpty)
            }
        }
    }

    @Test(arguments: [899, 900])
    func `a relay that stood still asks before it shows what lay there`(milliseconds: Int) {
        let isOld = milliseconds >= 900
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        fleet.stall(1, for: .milliseconds(milliseconds)) {
            a.locate(1)
            a.vanish()
        }
        #expect(b.takePositions() == (isOld ? [:] : [anna: 1]))
        #expect(b.relay.count("relay_standstills_total") == (isOld ? 1 : 0))
        // Who is still there is seen, for what is left of the time.
        let c = fleet.client(cleo, at: 0)
        fleet.stall(1, for: .milliseconds(milliseconds)) { c.locate(2) }
        #expect(b.take().first?["peers"].array.first?["ttl"].int == 20)
        fleet.stall(1, for: .seconds(4)) { c.locate(3) }
        #expect(b.take().first?["peers"].array.first?["ttl"].int == 16)
        _ = group
    }

    @Test func `a relay that stood still serves nobody who signed out meanwhile`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        b.join(group)
        _ = b.take()
        fleet.holdsAnswers = true
        // The look of the first standstill knows nothing of what happens in the second.
        fleet.stall(0, for: .seconds(1)) {}
        fleet.stall(0, for: .seconds(1)) { fleet.status[anna] = .revoked }
        a.locate(1)
        fleet.release()
        #expect(a.closeReason == .sessionEnded)
        #expect(b.takePositions() == [:])
    }

    @Test func `what lay ready before a standstill is not sent after it`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben], convoy: true)
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        b.join(group)
        _ = b.take()
        b.isStopped = true
        a.locate(1)
        fleet.stall(0, for: .seconds(1)) {}
        b.isStopped = false
        fleet.settle()
        #expect(b.takePositions() == [:])
        a.locate(2)
        #expect(b.takePositions() == [anna: 2])
    }

    @Test func `after a standstill a view of before is not enough`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        fleet.holdsAnswers = true
        fleet.change(group)
        fleet.settle()
        fleet.stall(1, for: .seconds(1)) { a.locate(1) }
        let fetches = fleet.fetches
        fleet.release()
        #expect(fleet.fetches > fetches)
        #expect(b.takePositions() == [anna: 1])
    }

    @Test func `what waited counts from when it was read`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben], convoy: true)
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        fleet.holdsAnswers = true
        fleet.change(group)
        fleet.settle()
        a.locate(1)
        fleet.now.milliseconds += 3000
        fleet.release()
        #expect(b.take().first?["peers"].array.first?["ttl"].int == 17)
    }

    @Test func `who only changes the relay is shown all the while`() {
        let fleet = CoreFleet(relays: 3)
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 2))
        b.join(group)
        a.locate(1)
        _ = fleet.client(anna, at: 1)
        let c = fleet.client(cleo, at: 2)
        c.join(group)
        #expect(c.takePositions() == [anna: 1])
    }

    @Test(arguments: [(0, 1), (1, 0)]) func `the newer socket of a rider counts, wherever it is`(
        first: Int,
        second: Int
    ) {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben])
        let b = fleet.client(ben, at: 0)
        let old = fleet.client(anna, at: first)
        old.join(group)
        b.join(group)
        _ = b.take()
        let new = fleet.client(anna, at: second)
        #expect(old.closeReason == .replaced)
        #expect(new.closeReason == nil)
        #expect(b.take().isEmpty)
        b.locate(1)
        #expect(new.takePositions() == [ben: 1])
        new.locate(2)
        #expect(b.takePositions() == [anna: 2])
        #expect(old.take().filter { $0.type == "positions" }.isEmpty)
    }

    @Test func `a relay that gets its first rider of a group hears where the others are`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let a = fleet.client(anna, at: 0)
        a.locate(1)
        fleet.advance(by: .seconds(10))
        let b = fleet.client(ben, at: 1)
        #expect(b.take().first?["peers"].array.first?["ttl"].int == 10)
        b.join(group)
        #expect(b.takeTypes() == ["joined", "positions"])
        let c = fleet.client(cleo, at: 1)
        c.join(group)
        #expect(c.takePositions() == [anna: 1])
        #expect(fleet.relays[1].count("relay_fixes_heard_total") == 1)
    }

    @Test func `taking away holds at every relay, also for what is on its way`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [a, b] {
            client.join(group)
            _ = client.take()
        }
        let stale = RelayedFix(
            accountID: anna,
            latitude: 1,
            longitude: 1,
            timestampMilliseconds: 1,
            receivedAtMilliseconds: fleet.now.milliseconds,
            ttlSeconds: 20,
            groups: [GroupVersion(groupID: group, version: 1)]
        )
        fleet.change(group, withdrawing: .paused, of: anna)
        b.relay.core.hear(RelayNews(body: .fix(stale)), at: fleet.now)
        fleet.settle()
        b.relay.core.hear(RelayNews(body: .fix(stale)), at: fleet.now)
        fleet.settle()
        #expect(b.takeTypes() == ["left"])
    }

    @Test func `a fix of a newer version waits until the view is fetched`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben])
        fleet.isTelling = false
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        fleet.changed(group, withdrawing: .paused, of: anna)
        let since = fleet.now.milliseconds
        fleet.changed(group) { $0.members[0].sharingSinceMilliseconds = since }
        a.relay.core.hear(GroupChange(groupID: group, version: 3, isGone: false))
        fleet.settle()
        a.locate(4)
        #expect(b.takePositions() == [anna: 4])
        #expect(b.relay.core.groups[group]?.version == 3)
    }

    @Test func `a relay that is killed loses its own sockets and nothing else`() {
        let fleet = CoreFleet(relays: 3)
        let group = fleet.group([anna, ben, cleo])
        let (_, b, c) = (
            fleet.client(anna, at: 0), fleet.client(ben, at: 1), fleet.client(cleo, at: 2)
        )
        for client in [b, c] { client.join(group) }
        fleet.crash(0)
        b.locate(1)
        #expect(c.takePositions() == [ben: 1])
        let again = fleet.client(anna, at: 1)
        c.locate(2)
        #expect(again.takePositions() == [cleo: 2])
        #expect(
            fleet.relays[0].core.interestedRelays(fleet.relays[0].core.groups[group]!) == [
                "relay-3"
            ]
        )
    }

    @Test func `a relay that comes back under its name has none of its old sockets`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b) = (fleet.client(anna, at: 1), fleet.client(ben, at: 0))
        for client in [a, b] { client.join(group) }
        a.locate(1)
        _ = b.take()
        fleet.restart(1)
        #expect(b.relay.core.remote.count == 0)
        // Who has no socket is seen in no convoy, by no one who comes later and over HTTP neither.
        let fix = MemberFix(
            latitude: 2,
            longitude: 8,
            timestampMilliseconds: fleet.now.milliseconds,
            receivedAtMilliseconds: fleet.now.milliseconds
        )
        let target = LiveFix.Target(groupID: group, version: 1, sharesWhileConnected: true)
        let posted = LiveFix(accountID: anna, fix: fix, ttlSeconds: 300, targets: [target])
        for relay in fleet.relays { relay.core.hear(posted, at: fleet.now) }
        fleet.settle()
        #expect(b.takePositions() == [:])
        let c = fleet.client(cleo, at: 0)
        c.join(group)
        #expect(c.takeTypes() == ["joined"])
    }

    @Test func `a departure that crosses a return says nothing`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [a, b] { client.join(group) }
        _ = b.take()
        let old = a.session.claim
        _ = fleet.client(anna, at: 0)
        b.relay.core.hear(
            RelayNews(
                body: .departure(RelayedDeparture(accountID: anna, claim: old, groupIDs: [group]))
            ),
            at: fleet.now
        )
        fleet.settle()
        #expect(b.take().isEmpty)
    }
}
