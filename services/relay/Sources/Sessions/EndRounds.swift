/// Rounds in which the other relays take in that sessions have ended, and who waits for them.
struct EndRounds {
    /// Told whether every relay took it in.
    typealias Call = @Sendable (_ isTaken: Bool) -> Void

    private struct Waiting {
        var rounds: Set<UInt64>
        var isTaken = true
        let call: Call
    }

    private var last: UInt64 = 0
    private var open: Set<UInt64> = []
    private var waiting: [Waiting] = []

    /// Begins a round; its number.
    mutating func begin() -> UInt64 {
        last += 1
        open.insert(last)
        return last
    }

    /// Waits for the rounds that are open.
    ///
    /// Two relays that wait for each other need room to answer each other, so no more wait than the limit.
    ///
    /// - Returns: What is to be called at once, when nothing is open or too many wait already.
    mutating func wait(limit: Int, _ call: @escaping Call) -> (@Sendable () -> Void)? {
        guard !open.isEmpty else { return { call(true) } }
        guard waiting.count < limit else { return { call(false) } }
        waiting.append(Waiting(rounds: open, call: call))
        return nil
    }

    /// Ends a round.
    ///
    /// - Parameters:
    ///   - round: Its number.
    ///   - isTaken: Whether every relay took in what was told.
    /// - Returns: What is to be called, now that nothing is left to wait for.
    mutating func end(_ round: UInt64, isTaken: Bool) -> [@Sendable () -> Void] {
        open.remove(round)
        var due: [@Sendable () -> Void] = []
        var rest: [Waiting] = []
        for var entry in waiting {
            if entry.rounds.remove(round) != nil, !isTaken { entry.isTaken = false }
            if entry.rounds.isEmpty {
                due.append { [entry] in entry.call(entry.isTaken) }
            } else {
                rest.append(entry)
            }
        }
        waiting = rest
        return due
    }

    /// Ends the waiting, as this relay ends.
    mutating func endAll() -> [@Sendable () -> Void] {
        var due: [@Sendable () -> Void] = []
        for entry in waiting { due.append { entry.call(false) } }
        waiting = []
        return due
    }
}
