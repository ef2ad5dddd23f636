import Testing

@testable import CompanionKit

/// Cases 107 to 110.
@Suite struct SpinRoundTests {
    static let candidates = [1.0, 2, 3].map {
        SpinCandidate(coordinate: Coordinate(latitude: $0, longitude: 0))
    }

    func round(_ count: Int, mine: Bool = true, _ votes: [AccountID: Int] = [:]) -> SpinRound {
        var round = SpinRound(candidates: Array(Self.candidates.prefix(count)), isMine: mine)
        round.votes = votes
        return round
    }

    @Test(arguments: [true, false])
    func `commits to a single candidate on every phone`(isMine: Bool) {
        let outcome = round(1, mine: isMine).outcome(peers: [People.ann], me: nil)
        #expect(outcome == .commit(Self.candidates[0]))
    }

    @Test func `closes only when everyone who is expected has voted`() {
        var round = round(3, [People.ann: 2])
        let peers: Set = [People.ann, People.bob]
        #expect(round.outcome(peers: peers, me: People.me) == .wait)
        round.votes[People.bob] = 2
        #expect(round.outcome(peers: peers, me: People.me) == .wait)
        round.votes[People.me] = 0
        #expect(round.outcome(peers: peers, me: People.me) == .close(2))
    }

    @Test func `never closes a round that another phone opened`() {
        let round = round(2, mine: false, [People.ann: 1, People.me: 1])
        #expect(round.outcome(peers: [People.ann], me: People.me) == .wait)
        // Whatever peers it sees itself.
        #expect(round.outcome(peers: [], me: People.me) == .wait)
    }

    @Test(
        arguments: [
            ([:], 0), ([People.ann: 2], 2), ([People.ann: 2, People.bob: 1], 1),
            ([People.ann: 1, People.bob: 1, People.me: 0], 1), ([People.ann: 7], 0),
            ([People.ann: -1, People.bob: 2], 2),
        ] as [([AccountID: Int], Int)]
    )
    func `is led by most votes, among equals by the first`(votes: [AccountID: Int], leader: Int) {
        #expect(round(3, votes).leader == leader)
    }

    @Test func `waits for nobody who is not signed in, and for someone at least`() {
        #expect(round(2, [People.ann: 1]).outcome(peers: [People.ann], me: nil) == .close(1))
        #expect(round(2).outcome(peers: [], me: nil) == .wait)
        #expect(round(2, [People.ann: 1]).outcome(peers: [], me: nil) == .wait)
    }
}
