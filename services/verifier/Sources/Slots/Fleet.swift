/// The verifiers that live, as the sessions of their writers show.
///
/// A session is the truth about a crash: it ends with its process, at once. About a freeze only the
/// heartbeat tells.
struct Fleet: Equatable {
    /// A writer's session with the process behind it.
    struct Session: Equatable {
        let backendPID: Int32
        let instance: String
        /// Whether the process gave a sign of life lately.
        let beats: Bool
    }

    /// The verifiers that live, in the order of their names, this one among them.
    let living: [String]
    /// Sessions that hold slots for nobody.
    let silent: [Int32]

    /// Tells the living from the silent.
    ///
    /// An earlier session of this process serves nobody. After an outage of the database every
    /// heartbeat is old, and whoever came back first would cut the others off; so one who is not
    /// settled, or whose own heartbeat does not arrive, takes all others for living.
    ///
    /// - Parameters:
    ///   - sessions: The sessions of all writers.
    ///   - backendPID: This process's own.
    ///   - instance: This process.
    ///   - isSettled: Whether our session is old enough for every heartbeat to have arrived since.
    init(
        _ sessions: [Session],
        seenFrom backendPID: Int32,
        of instance: String,
        isSettled: Bool
    ) {
        let others = sessions.filter { $0.backendPID != backendPID }
        let mayJudge =
            isSettled && sessions.contains { $0.backendPID == backendPID && $0.beats }
        silent = others.filter { $0.instance == instance || (mayJudge && !$0.beats) }
            .map(\.backendPID)
        living = Set(others.filter { $0.beats || !mayJudge }.map(\.instance) + [instance])
            .sorted()
    }

    /// The step of this process towards its share.
    func next(owned: Int, of instance: String) -> SlotBalance {
        let place = living.firstIndex(of: instance) ?? living.count
        return SlotBalance.next(owned: owned, place: place, of: living.count)
    }
}
