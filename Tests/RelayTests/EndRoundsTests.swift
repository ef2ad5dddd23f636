import Bus
import Synchronization
import Testing

@testable import RelayService

/// Who waits until other relays know which sessions have ended.
@Suite struct EndRoundsTests {
    /// What was answered to those who waited.
    private final class Answers: Sendable {
        private let answers = Mutex<[Bool]>([])

        var all: [Bool] { answers.withLock { $0 } }

        func add(_ answer: Bool) { answers.withLock { $0.append(answer) } }
    }

    private let answers = Answers()

    @Test func `nobody waits when there is nothing to wait for`() {
        var rounds = EndRounds()
        rounds.wait(limit: 1) { answers.add($0) }?()
        #expect(answers.all == [true])
    }

    @Test(arguments: [(true, true), (true, false), (false, true)])
    func `all rounds that are under way are waited for, later ones are not`(
        first: Bool,
        second: Bool
    ) {
        var rounds = EndRounds()
        let numbers = [rounds.begin(), rounds.begin()]
        rounds.wait(limit: 9) { answers.add($0) }?()
        let later = rounds.begin()
        for call in rounds.end(numbers[1], isTaken: second) { call() }
        #expect(answers.all.isEmpty)
        for call in rounds.end(numbers[0], isTaken: first) { call() }
        #expect(answers.all == [first && second])
        let rest = rounds.end(later, isTaken: true)
        #expect(rest.isEmpty)
    }

    @Test func `no more wait than two relays can have wait for each other`() {
        let limit = RelayLimits().waitingChecks
        #expect(limit < BusLimits().runningRequests)
        var rounds = EndRounds()
        _ = rounds.begin()
        for _ in 0..<limit { rounds.wait(limit: limit) { answers.add($0) }?() }
        #expect(answers.all.isEmpty)
        rounds.wait(limit: limit) { answers.add($0) }?()
        #expect(answers.all == [false])
        for call in rounds.endAll() { call() }
        #expect(answers.all.count == limit + 1 && !answers.all.contains(true))
    }
}
