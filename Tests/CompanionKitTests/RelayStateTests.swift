import Foundation
import Testing

@testable import CompanionKit

/// Cases 99, 105, 106, 114 and defects 3 and 4.
@Suite struct RelayStateTests {
    var state = RelayState(features: .standard)

    init() { state.me = People.me }

    static func peer(_ id: AccountID, ttl: Int64 = 20, ts: Int64 = 0) -> RelayFrame.Peer {
        RelayFrame.Peer(
            riderID: id,
            coordinate: Places.middle,
            timestampMilliseconds: ts,
            ttlSeconds: ttl
        )
    }

    mutating func positions(_ ids: AccountID..., at seconds: Int = 0) {
        _ = state.apply(.positions(ids.map { Self.peer($0) }), at: .seconds(seconds))
    }

    // MARK: - Peers

    @Test mutating func `counts a peer's time from arrival, not from the peer's clock`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        let future = Self.peer(People.ann, ttl: 20, ts: 99_999_999_999_999)
        let past = Self.peer(People.bob, ttl: 300, ts: 1)
        _ = state.apply(.positions([future, past]), at: .seconds(100))
        #expect(state.peers[People.ann]?.expiresAtUptime == .seconds(120))
        #expect(state.peers[People.bob]?.expiresAtUptime == .seconds(400))
    }

    @Test(arguments: [(119_999, true), (120_000, false)])
    mutating func `hides a peer the moment the time is up`(milliseconds: Int, isShown: Bool) {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        positions(People.ann, at: 100)
        state.prune(at: .milliseconds(milliseconds))
        #expect(state.peers.isEmpty == !isShown)
    }

    @Test mutating func `takes the last of several positions`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        var later = Self.peer(People.ann, ts: 9)
        later.coordinate = Places.north(50)
        _ = state.apply(.positions([Self.peer(People.ann, ts: 1), later]), at: .zero)
        #expect(state.peers[People.ann]?.coordinate == Places.north(50))
        positions(People.bob, at: 1)
        #expect(state.peers.count == 2)
    }

    @Test mutating func `never shows the person themselves`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        positions(People.me)
        #expect(state.peers.isEmpty)
    }

    // MARK: - Leaving (defects 3 and 4)

    @Test mutating func `keeps someone visible in the group that they did not leave`() {
        state.setConvoy(LiveGroup(id: Groups.convoy, members: [People.ann, People.bob]))
        state.setCircles([LiveGroup(id: Groups.circle, members: [People.ann])])
        positions(People.ann, People.bob)
        _ = state.apply(.left(People.ann, Groups.convoy), at: .zero)
        _ = state.apply(.left(People.bob, Groups.convoy), at: .zero)
        #expect(state.peers[People.ann]?.groupIDs == [Groups.circle])
        #expect(state.peers[People.bob] == nil)
        #expect(state.snapshot.peers(in: Groups.convoy).isEmpty)
        // Their next position is still the circle's business alone.
        positions(People.ann)
        #expect(state.peers[People.ann]?.groupIDs == [Groups.circle])
    }

    @Test mutating func `hides someone who left everything, and heals a false goodbye`() {
        state.setConvoy(LiveGroup(id: Groups.convoy, members: [People.ann]))
        positions(People.ann)
        _ = state.apply(.left(People.ann, Groups.convoy), at: .zero)
        #expect(state.peers.isEmpty)
        positions(People.ann)
        #expect(state.peers[People.ann]?.groupIDs == [Groups.convoy])
    }

    @Test mutating func `hides someone at once whom an older relay says goodbye for`() {
        state.setConvoy(LiveGroup(id: Groups.convoy, members: [People.ann]))
        state.setCircles([LiveGroup(id: Groups.circle, members: [People.ann])])
        positions(People.ann)
        _ = state.apply(.left(People.ann, nil), at: .zero)
        #expect(state.peers.isEmpty)
    }

    @Test mutating func `takes a fresh list for the truth`() {
        state.setCircles([LiveGroup(id: Groups.circle, members: [People.ann, People.bob])])
        positions(People.ann, People.bob)
        state.setCircles([LiveGroup(id: Groups.circle, members: [People.ann])])
        #expect(Set(state.peers.keys) == [People.ann])
    }

    @Test mutating func `shows someone who is newer than the list`() {
        state.setConvoy(LiveGroup(id: Groups.convoy, members: [People.ann]))
        positions(People.bob)
        #expect(state.peers[People.bob] != nil)
    }

    @Test mutating func `leaving a convoy takes its people away at once, not the circle's`() {
        state.setConvoy(LiveGroup(id: Groups.convoy, members: [People.ann, People.bob]))
        state.setCircles([LiveGroup(id: Groups.circle, members: [People.ann])])
        state.openSpin(SpinRoundTests.candidates)
        positions(People.ann, People.bob)
        state.setConvoy(nil)
        #expect(Set(state.peers.keys) == [People.ann])
        #expect(state.spin == nil)
        state.setCircles([])
        #expect(state.peers.isEmpty)
    }

    @Test mutating func `leaving a convoy without a list takes everyone away`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        state.setCircles([LiveGroup(id: Groups.circle)])
        positions(People.ann)
        state.setConvoy(LiveGroup(id: Groups.otherConvoy))
        #expect(state.peers.isEmpty)
    }

    @Test mutating func `a dropped circle without lists leaves peers to their time`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        state.setCircles([LiveGroup(id: Groups.circle)])
        positions(People.ann)
        state.setCircles([])
        #expect(state.peers[People.ann] != nil)
    }

    @Test mutating func `a broken connection leaves peers to their time and ends the vote`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        positions(People.ann)
        state.openSpin(SpinRoundTests.candidates)
        state.disconnect()
        #expect(state.peers[People.ann] != nil)
        #expect(state.spin == nil && !state.isConnected)
    }

    // MARK: - Voice

    @Test func `shows who talks when voice is on, until they stop or leave`() {
        var state = RelayState(features: CompanionFeatures(voice: true))
        state.setConvoy(LiveGroup(id: Groups.convoy))
        _ = state.apply(.positions([Self.peer(People.ann)]), at: .zero)
        _ = state.apply(.voiceStart(People.ann), at: .zero)
        #expect(state.talking == [People.ann])
        _ = state.apply(.voiceEnd(People.ann), at: .zero)
        #expect(state.talking.isEmpty)
        _ = state.apply(.voiceStart(People.ann), at: .zero)
        _ = state.apply(.left(People.ann, Groups.convoy), at: .zero)
        #expect(state.talking.isEmpty && state.peers.isEmpty)
        let chunk = VoiceChunk(riderID: People.ann, bytes: [1])
        #expect(state.apply(.voice(chunk), at: .zero) == .play(chunk))
    }

    @Test mutating func `hears nothing while voice is off`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        _ = state.apply(.voiceStart(People.ann), at: .zero)
        #expect(state.talking.isEmpty)
        let chunk = VoiceChunk(riderID: People.ann, bytes: [1])
        #expect(state.apply(.voice(chunk), at: .zero) == .proceed)
    }

    // MARK: - Votes

    @Test mutating func `a new offer begins a new vote`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        state.openSpin(SpinRoundTests.candidates)
        state.vote(1)
        let offer = Array(SpinRoundTests.candidates.prefix(2))
        _ = state.apply(.spinOffer(People.ann, Groups.convoy, offer), at: .zero)
        #expect(state.spin == SpinRound(candidates: offer, isMine: false))
    }

    @Test mutating func `votes of another group are none of the convoy's`() {
        state.setConvoy(LiveGroup(id: Groups.convoy))
        state.openSpin(SpinRoundTests.candidates)
        _ = state.apply(.spinVote(People.ann, Groups.otherConvoy, 1), at: .zero)
        _ = state.apply(
            .spinOffer(People.ann, Groups.circle, SpinRoundTests.candidates),
            at: .zero
        )
        #expect(state.spin?.votes.isEmpty == true && state.spin?.isMine == true)
    }

    @Test mutating func `does not wait for members of a circle`() {
        state.setConvoy(LiveGroup(id: Groups.convoy, members: [People.ann]))
        state.setCircles([LiveGroup(id: Groups.circle, members: [People.bob])])
        positions(People.ann, People.bob)
        state.openSpin(SpinRoundTests.candidates)
        state.vote(1)
        #expect(state.spinOutcome == .wait)
        _ = state.apply(.spinVote(People.ann, Groups.convoy, 1), at: .zero)
        #expect(state.spinOutcome == .close(1))
    }

    @Test mutating func `takes the sharer's decision whatever peers it sees`() {
        state.setConvoy(LiveGroup(id: Groups.convoy, members: [People.ann, People.bob]))
        _ = state.apply(
            .spinOffer(People.ann, Groups.convoy, SpinRoundTests.candidates),
            at: .zero
        )
        // This phone sees nobody else: by its own count everyone has voted.
        state.vote(0)
        #expect(state.spinOutcome == .wait)
        let winner = SpinRoundTests.candidates[2]
        _ = state.apply(.spinOffer(People.ann, Groups.convoy, [winner]), at: .zero)
        #expect(state.spinOutcome == .commit(winner))
    }
}
