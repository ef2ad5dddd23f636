import Messages
import Testing
import Transit

@testable import FeedService

/// Which estimates are believed, and for how long.
@Suite struct EstimateBoardTests {
    private func trips(_ board: EstimateBoard) -> [TripID] {
        board.fresh(at: TripEstimate.now, maxAge: 90).map(\.trip.tripID)
    }

    @Test(
        arguments: [
            (1, 1, 1, 2, true), (1, 1, 1, 1, false), (1, 2, 1, 1, false),
            (1, 9, 2, 1, true), (2, 1, 1, 9, false),
        ] as [(UInt64, UInt64, UInt64, UInt64, Bool)]
    )
    func `the epoch decides, then the sequence`(
        epoch: UInt64,
        sequence: UInt64,
        laterEpoch: UInt64,
        laterSequence: UInt64,
        isHeard: Bool
    ) {
        var board = EstimateBoard()
        let first = board.hear(.sample(epoch: epoch, sequence: sequence, [.sample("first")]))
        #expect(first)
        let second = board.hear(
            .sample(epoch: laterEpoch, sequence: laterSequence, [.sample("second")])
        )
        #expect(second == isHeard)
        #expect(trips(board) == [isHeard ? "second" : "first"])
    }

    @Test func `an owner that lost its slot and speaks late is not heard`() {
        var board = EstimateBoard()
        _ = board.hear(.sample(epoch: 5, sequence: 1, [.sample("new owner")]))
        let late = board.hear(.sample(epoch: 4, sequence: 900, []))
        #expect(!late)
        #expect(trips(board) == ["new owner"])
    }

    @Test func `a state is whole: a trip that it no longer names is gone`() {
        var board = EstimateBoard()
        _ = board.hear(.sample(sequence: 1, [.sample("A"), .sample("B")]))
        _ = board.hear(.sample(sequence: 2, [.sample("B")]))
        #expect(trips(board) == ["B"])
    }

    @Test func `slots do not touch each other, and trips are sorted over all`() {
        var board = EstimateBoard()
        _ = board.hear(.sample(slot: 1, epoch: 9, [.sample("C"), .sample("a")]))
        _ = board.hear(.sample(slot: 2, epoch: 1, [.sample("B", on: .tuesday), .sample("B")]))
        let fresh = board.fresh(at: TripEstimate.now, maxAge: 90)
        #expect(fresh.map(\.trip.tripID) == ["B", "B", "C", "a"])
        #expect(fresh.map(\.trip.startDate.description).prefix(2) == ["20260216", "20260217"])
    }

    @Test(arguments: [(0, true), (89, true), (90, true), (91, false), (-30, true)])
    func `an estimate is there for 90 seconds`(age: Int64, isThere: Bool) {
        var board = EstimateBoard()
        _ = board.hear(.sample([.sample("T", at: TripEstimate.now - age)]))
        #expect(trips(board) == (isThere ? ["T"] : []))
    }

    @Test(arguments: [(UnixSeconds.min, false), (.max, true)])
    func `no time on the bus is too far off to compare`(time: UnixSeconds, isThere: Bool) {
        var board = EstimateBoard()
        _ = board.hear(.sample([.sample("T", at: time)]))
        #expect(trips(board) == (isThere ? ["T"] : []))
    }
}
