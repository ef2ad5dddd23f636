import Messages
import TestKit
import Testing
import Transit

@testable import RelayService

/// What was read before someone began to share in a group does not go there, however long it waited.
@Suite struct SharingSinceTests {
    private let anna = UniqueID.random()
    private let ben = UniqueID.random()

    /// A circle in which the first does not share, and both with a socket.
    private func pausedFleet() -> (fleet: CoreFleet, circle: UniqueID, a: CoreClient, b: CoreClient)
    {
        let fleet = CoreFleet()
        let circle = fleet.group([anna, ben])
        fleet.changed(circle, withdrawing: .paused, of: anna)
        return (fleet, circle, fleet.client(anna), fleet.client(ben))
    }

    private func resume(_ fleet: CoreFleet, _ circle: UniqueID, after milliseconds: Int64) {
        let since = fleet.now.milliseconds + milliseconds
        fleet.change(circle) { view in
            for index in view.members.indices where view.members[index].accountID == anna {
                view.members[index].sharingSinceMilliseconds = since
            }
        }
    }

    @Test(arguments: [(-1, true), (0, true), (1, false)])
    func `a fix that waits for a view goes where its sender shared when it was read`(
        after: Int64,
        isShown: Bool
    ) {
        let (fleet, circle, a, b) = pausedFleet()
        fleet.holdsAnswers = true
        fleet.change(circle)
        a.locate(1)
        resume(fleet, circle, after: after)
        fleet.release()
        #expect(b.takePositions() == (isShown ? [anna: 1] : [:]))
        fleet.now.milliseconds += 1
        a.locate(2)
        #expect(b.takePositions() == [anna: 2])
    }

    @Test(arguments: [(-1, true), (0, true), (1, false)])
    func `a fix that waits behind a join goes where its sender shared when it was read`(
        after: Int64,
        isShown: Bool
    ) {
        let (fleet, circle, a, b) = pausedFleet()
        resume(fleet, circle, after: 0)
        fleet.settle()
        a.relay.core.receive(
            Array("{\"type\":\"location\",\"lat\":1,\"lon\":8}".utf8),
            from: a.session,
            readAt: fleet.now.milliseconds - after,
            at: fleet.now,
            claims: { _ in nil }
        )
        fleet.settle()
        let peers = b.take().first?["peers"].array ?? []
        #expect(peers.count == (isShown ? 1 : 0))
        // Without a moment of its own it is of when it was read.
        #expect(peers.first?["ts"].int == (isShown ? Int(fleet.now.milliseconds - after) : nil))
    }

    @Test(arguments: [(-1, true), (0, true), (1, false)])
    func `a fix over HTTP that crosses a resumption on the bus is judged by when it came`(
        after: Int64,
        isShown: Bool
    ) {
        let (fleet, circle, _, b) = pausedFleet()
        let fix = MemberFix(
            latitude: 1,
            longitude: 1,
            timestampMilliseconds: 1,
            receivedAtMilliseconds: fleet.now.milliseconds
        )
        resume(fleet, circle, after: after)
        b.relay.core.hear(
            LiveFix(
                accountID: anna,
                fix: fix,
                ttlSeconds: 300,
                targets: [.init(groupID: circle, version: 1, sharesWhileConnected: false)]
            ),
            at: fleet.now
        )
        fleet.settle()
        #expect(b.takePositions() == (isShown ? [anna: 1] : [:]))
    }

    @Test func `a pause that no relay heard of takes effect with the resumption`() {
        let fleet = CoreFleet()
        let circle = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        b.join(circle)
        _ = b.take()
        a.locate(1)
        #expect(b.takePositions() == [anna: 1])
        b.isStopped = true
        a.locate(2)
        fleet.isTelling = false
        fleet.changed(circle, withdrawing: .paused, of: anna)
        fleet.now.milliseconds += 1
        resume(fleet, circle, after: 0)
        fleet.advance(by: .seconds(5))
        b.isStopped = false
        b.join(circle)
        // What waited is taken back, and nothing of before is shown to who joins.
        #expect(b.takeTypes() == ["left", "joined"])
        a.locate(3)
        #expect(b.takePositions() == [anna: 3])
    }
}
