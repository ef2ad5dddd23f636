/// Which parts run and which must stop next: the decisions of ``ServiceGroup``, without tasks.
struct GroupState: Sendable, Equatable {
    /// What happened.
    enum Event: Sendable, Equatable {
        /// SIGTERM, SIGINT or the supervisor's end, with the signal's number.
        case stopRequested(signal: Int32)
        /// A part returned, or threw an error that is described here.
        case ended(part: Int, failure: String?)
        /// The time for stopping is over.
        case deadlinePassed
    }

    /// What to do about it.
    enum Action: Sendable, Equatable {
        /// Tell the part to stop; `isFirst` starts the deadline.
        case cancel(part: Int, isFirst: Bool)
        /// Go on waiting.
        case wait
        /// All parts ended, or the deadline passed with some still running.
        case finish(code: Int32, unfinished: [Int])
        /// A second signal: leave at once.
        case leave(code: Int32)
    }

    private enum Phase: Equatable {
        case running
        case stopping(code: Int32, signalled: Bool)
    }

    private var phase = Phase.running
    private var alive: [Int]
    /// The part that ended before anyone was told to stop, and what it threw.
    private(set) var firstEnded: (part: Int, failure: String?)?

    init(parts: Int) { alive = Array(0..<parts) }

    mutating func handle(_ event: Event) -> Action {
        switch event {
        case .stopRequested(let signal): stop(for: signal)
        case .ended(let part, let failure): end(part, failure)
        case .deadlinePassed: finish(code: 1)
        }
    }

    private mutating func stop(for signal: Int32) -> Action {
        switch phase {
        case .running:
            phase = .stopping(code: 0, signalled: true)
            return cancelLast(isFirst: true)
        case .stopping(let code, false):
            phase = .stopping(code: code, signalled: true)
            return .wait
        case .stopping(_, true):
            return .leave(code: 128 + signal)
        }
    }

    private mutating func end(_ part: Int, _ failure: String?) -> Action {
        let wasCancelled = phase != .running && part == alive.last
        alive.removeAll { $0 == part }
        guard case .stopping(let code, let signalled) = phase else {
            firstEnded = (part, failure)
            phase = .stopping(code: 1, signalled: false)
            return cancelLast(isFirst: true)
        }
        if failure != nil { phase = .stopping(code: 1, signalled: signalled) }
        if alive.isEmpty { return finish(code: failure == nil ? code : 1) }
        return wasCancelled ? cancelLast(isFirst: false) : .wait
    }

    private func cancelLast(isFirst: Bool) -> Action {
        guard let last = alive.last else { return finish(code: 1) }
        return .cancel(part: last, isFirst: isFirst)
    }

    private func finish(code: Int32) -> Action { .finish(code: code, unfinished: alive) }

    static func == (left: GroupState, right: GroupState) -> Bool {
        left.phase == right.phase && left.alive == right.alive
    }
}
