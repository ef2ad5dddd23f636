import Messages
import Telemetry
import TestKit
import Testing
import Transit

@testable import RelayService

/// Positions for a crowd wait for others that come with them, and for nothing else.
@Suite struct GatheringTests {
    private let anna = UniqueID.random()
    private let ben = UniqueID.random()
    private let cleo = UniqueID.random()
    private let dora = UniqueID.random()

    @Test(arguments: [
        (0, 0), (1, 0), (10, 0), (199, 0), (200, 1_000_000), (201, 1_005_000), (1000, 5_000_000),
        (1999, 9_995_000), (2000, 10_000_000), (2001, 10_000_000), (20_000, 10_000_000),
    ])
    func `positions wait as long as they take to write, from 1 to 10 ms`(
        sockets: Int,
        nanoseconds: UInt64
    ) {
        #expect(Gathering(RelayLimits()).patience(with: sockets) == nanoseconds)
    }

    /// Four in a convoy, which are a crowd here: with three sockets a position waits 1.2 ms, with four 1.6.
    private func crowd() -> (fleet: CoreFleet, convoy: UniqueID, clients: [CoreClient]) {
        var limits = RelayLimits()
        limits.writeTime = .microseconds(400)
        limits.gatherLimit = .milliseconds(2)
        let fleet = CoreFleet(limits: limits)
        let convoy = fleet.group([anna, ben, cleo, dora], convoy: true)
        let clients = [anna, ben, cleo, dora].map { fleet.client($0) }
        for client in clients { client.join(convoy) }
        for client in clients { _ = client.take() }
        return (fleet, convoy, clients)
    }

    private func wait(_ fleet: CoreFleet, _ duration: Duration) {
        fleet.now.uptime += duration.nanoseconds
        fleet.settle()
    }

    @Test func `what comes in the meantime goes in the same frame`() {
        let (fleet, _, clients) = crowd()
        clients[0].locate(1)
        wait(fleet, .microseconds(900))
        clients[1].locate(2)
        wait(fleet, .nanoseconds(699_999))
        #expect(clients.allSatisfy { $0.take().isEmpty })
        wait(fleet, .nanoseconds(1))
        for client in clients[2...] {
            #expect(client.take().map { $0["peers"].array.count } == [2])
        }
        #expect(clients[0].takePositions() == [ben: 2])
        #expect(clients[1].takePositions() == [anna: 1])
        #expect(fleet.relays[0].count("relay_gatherings_total") == 1)
        #expect(fleet.relays[0].core.gathering.end == nil)
        wait(fleet, .seconds(1))
        #expect(clients.allSatisfy { $0.take().isEmpty })
    }

    @Test func `every other frame goes at once and takes along what waits`() {
        let (fleet, convoy, clients) = crowd()
        clients[0].locate(1)
        clients[1].vote(convoy)
        #expect(clients[0].takeTypes() == ["spin_vote"])
        #expect(clients[1].take().isEmpty)
        #expect(clients[2].takeTypes() == ["positions", "spin_vote"])
        wait(fleet, .milliseconds(2))
        #expect(clients[1].takePositions() == [anna: 1])
        // Nobody gets it twice.
        #expect(clients[2].take().isEmpty)
    }

    @Test func `who leaves is taken out of what waits, and left is said at once`() {
        let (fleet, convoy, clients) = crowd()
        clients[0].locate(1)
        clients[1].locate(2)
        fleet.changed(convoy, withdrawing: .left, of: anna)
        #expect(clients[0].closeReason == .membershipEnded)
        #expect(clients[1].takeTypes() == ["left"])
        for client in clients[2...] { #expect(client.takeTypes() == ["positions", "left"]) }
        wait(fleet, .milliseconds(2))
        #expect(clients.allSatisfy { $0.take().isEmpty })
    }

    @Test func `a small group does not wait for a large one`() {
        let (fleet, _, clients) = crowd()
        let (eve, finn) = (UniqueID.random(), UniqueID.random())
        _ = fleet.group([eve, finn], convoy: true)
        let (e, f) = (fleet.client(eve), fleet.client(finn))
        clients[0].locate(1)
        e.locate(2)
        #expect(f.takePositions() == [eve: 2])
        #expect(clients.allSatisfy { $0.take().isEmpty })
    }
}
