import Messages
import ServiceKit
import TestKit
import Testing
import Transit

@testable import RelayService

/// A relay finds out itself that the session of a socket elsewhere has ended, as that socket's relay may be dead or
/// stand still (decision 0098).
@Suite struct ForeignSessionTests {
    private let anna = UniqueID.random()
    private let ben = UniqueID.random()
    private let cleo = UniqueID.random()

    @Test(arguments: [false, true])
    func `a relay finds out itself that a session elsewhere has ended`(convoy: Bool) {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben, cleo], convoy: convoy)
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [a, b] { client.join(group) }
        a.locate(1)
        _ = b.take()
        b.isStopped = true
        a.locate(2)
        fleet.holdsNews = true
        a.locate(3)
        a.vote(group)
        fleet.status[anna] = .revoked
        // Anna's relay stands still.
        b.relay.core.checkSessions()
        fleet.settle()
        b.isStopped = false
        fleet.settle()
        #expect(b.take().isEmpty)
        let c = fleet.client(cleo, at: 1)
        c.join(group)
        #expect(c.takePositions() == (convoy ? [:] : [anna: 2]))
        fleet.releaseNews()
        fleet.advance(by: .seconds(1))
        #expect(b.take().isEmpty && c.take().isEmpty)
        // It goes on, and says what it alone knows.
        fleet.checkSessions()
        #expect(a.closeReason == .sessionEnded)
        #expect(b.takeTypes() == ["left"] && c.takeTypes() == ["left"])
    }

    @Test func `nobody hears twice or not at all when both relays find out`() {
        for first in [0, 1] {
            let fleet = CoreFleet(relays: 2)
            let group = fleet.group([anna, ben], convoy: true)
            let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
            for client in [a, b] { client.join(group) }
            a.locate(1)
            _ = b.take()
            fleet.status[anna] = .revoked
            for index in [first, 1 - first] {
                fleet.relays[index].core.checkSessions()
                fleet.settle()
            }
            fleet.checkSessions()
            #expect(b.takeTypes() == ["left"])
        }
    }

    @Test func `a socket that is told of after its session has ended is shown nowhere`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let b = fleet.client(ben, at: 1)
        b.join(group)
        _ = b.take()
        fleet.holdsNews = true
        let a = fleet.client(anna, at: 0)
        a.locate(1)
        fleet.status[anna] = .revoked
        b.relay.core.checkSessions()
        fleet.releaseNews()
        #expect(b.take().isEmpty)
    }

    @Test func `a socket that goes on with another session is shown when that of before ends`() {
        let fleet = CoreFleet(relays: 2)
        let group = fleet.group([anna, ben], convoy: true)
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [a, b] { client.join(group) }
        let old = a.session.revocation.mark.tokenDigest
        fleet.holdsNews = true
        a.send("{\"type\":\"auth\",\"token\":\"for \(anna)\"}")
        old.map { _ = fleet.sessions.endedTokens.insert($0) }
        // The other relay has not heard of the new token yet.
        fleet.checkSessions()
        #expect(a.closeReason == nil)
        fleet.releaseNews()
        _ = b.take()
        a.locate(2)
        #expect(b.takePositions() == [anna: 2])
        fleet.checkSessions()
        a.locate(3)
        #expect(b.takePositions() == [anna: 3])
    }

    @Test func `a newer socket of another session is shown when that of the older one ends`() {
        let fleet = CoreFleet(relays: 3)
        let group = fleet.group([anna, ben], convoy: true)
        let (old, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        for client in [old, b] { client.join(group) }
        fleet.holdsNews = true
        let new = fleet.client(anna, at: 2)
        old.session.revocation.mark.tokenDigest.map {
            _ = fleet.sessions.endedTokens.insert($0)
        }
        b.relay.core.checkSessions()
        fleet.releaseNews()
        new.join(group)
        _ = b.take()
        new.locate(2)
        #expect(b.takePositions() == [anna: 2])
    }

    @Test(arguments: [false, true])
    func `a fix over HTTP is shown to nobody when its sender has signed out since`(signsOut: Bool) {
        let fleet = CoreFleet(relays: 2)
        let (circle, convoy) = (fleet.group([anna, ben]), fleet.group([anna, ben], convoy: true))
        // Another session of the account goes on.
        let (a, b) = (fleet.client(anna, at: 0), fleet.client(ben, at: 1))
        let call = RevocationQuestion(
            fleet.sessions.token(of: anna, lifetime: .seconds(900), at: fleet.now)
        )
        if signsOut, let token = call.mark.tokenDigest { fleet.sessions.endedTokens.insert(token) }
        let fix = MemberFix(
            latitude: 2,
            longitude: 8,
            timestampMilliseconds: fleet.now.milliseconds,
            receivedAtMilliseconds: fleet.now.milliseconds
        )
        let targets = [(circle, false), (convoy, true)].map {
            LiveFix.Target(groupID: $0.0, version: 1, sharesWhileConnected: $0.1)
        }
        b.relay.core.hear(
            LiveFix(
                accountID: anna,
                fix: fix,
                ttlSeconds: 300,
                targets: targets,
                session: call.mark
            ),
            at: fleet.now
        )
        fleet.settle()
        #expect(a.closeReason == nil)
        #expect(b.takePositions() == (signsOut ? [:] : [anna: 2]))
    }
}
