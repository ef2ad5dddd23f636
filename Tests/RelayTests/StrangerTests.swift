import Messages
import TestKit
import Testing
import Transit

@testable import RelayService

/// Who knows a group's id and is no member of it (spec, case 69).
@Suite struct StrangerTests {
    @Test(arguments: [true, false])
    func `who only knows a group's id is refused, and nothing of theirs gets there`(isConvoy: Bool)
    {
        let (anna, ben, mallory) = (UniqueID.random(), UniqueID.random(), UniqueID.random())
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben], convoy: isConvoy)
        // A group of their own keeps the socket busy.
        let own = fleet.group([mallory], convoy: true)
        let (a, b, m) = (fleet.client(anna), fleet.client(ben), fleet.client(mallory))
        for client in [a, b] { client.join(group) }
        for client in [a, b] { _ = client.take() }
        m.join(own)
        m.join(group)
        #expect(m.takeTypes() == ["joined", "error"])
        m.locate(1)
        m.vote(group)
        m.send(
            "{\"type\":\"spin_offer\",\"groupId\":\"\(group)\",\"candidates\":[{\"lat\":1,\"lon\":2}]}"
        )
        #expect(a.take().isEmpty && b.take().isEmpty)
        // Nor do they get anything from there.
        a.locate(2)
        b.vote(group)
        #expect(b.takePositions() == [anna: 2])
        #expect(m.take().isEmpty)
        #expect(m.closeReason == nil)
    }
}
