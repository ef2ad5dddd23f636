import Messages
import TestKit
import Testing
import Transit

@testable import RelayService

/// A relay that stood still may have been waited for in vain.
@Suite struct StandstillTests {
    private let anna = UniqueID.random()
    private let ben = UniqueID.random()
    private let cleo = UniqueID.random()

    @Test(arguments: [899, 900])
    func `a standstill in the middle of a turn is noticed before anything is written`(
        milliseconds: Int64
    ) {
        let fleet = CoreFleet()
        _ = fleet.group([anna, ben], convoy: true)
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        let core = b.relay.core
        core.begin(at: fleet.now)
        b.isStopped = true
        a.locate(1)
        fleet.now.uptime += UInt64(milliseconds) * 1_000_000
        fleet.now.milliseconds += milliseconds
        core.noteStandstill(at: fleet.now)
        // The next turn finds nothing more.
        core.begin(at: fleet.now)
        b.isStopped = false
        fleet.settle()
        #expect(b.takePositions() == (milliseconds >= 900 ? [:] : [anna: 1]))
        #expect(b.relay.count("relay_standstills_total") == (milliseconds >= 900 ? 1 : 0))
    }

    @Test func `a view that was asked for before a standstill is asked for again`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben], convoy: true)
        fleet.holdsAnswers = true
        let a = fleet.client(anna)
        fleet.stall(0, for: .seconds(1)) {}
        let fetches = fleet.fetches
        fleet.release()
        #expect(fleet.fetches > fetches)
        #expect(a.relay.core.groups[group]?.isStale == false)
    }

    @Test func `what came during a standstill is kept until it is known which sessions ended`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b, c) = (fleet.client(anna), fleet.client(ben), fleet.client(cleo))
        b.join(group)
        a.locate(1)
        for client in [b, c] { _ = client.take() }
        fleet.holdsAnswers = true
        fleet.stall(0, for: .seconds(1)) {}
        let core = b.relay.core
        if let held = core.groups[group] { core.suspect(held, at: fleet.now) }
        c.join(group)
        let vote = RelayedVote(accountID: anna, groupID: group, version: 1, ballot: .vote(1))
        core.hear(RelayNews(body: .vote(vote)), at: fleet.now)
        // The views come first, and only then what is known of sessions.
        fleet.release(newestFirst: true)
        #expect(b.takeTypes() == ["spin_vote"])
        let frames = c.take()
        #expect(frames.map(\.type).prefix(2) == ["joined", "positions"])
        #expect(core.questions.values.isEmpty)
    }
}
