internal import Transit

/// The questions that sockets wait for, by number and by the group that they are about.
struct OpenQuestions {
    private var sessions: [UInt64: Session] = [:]
    private var ofGroup: [UniqueID: Set<UInt64>] = [:]

    /// The sockets that wait.
    var values: some Collection<Session> { sessions.values }

    /// The groups that are asked about.
    var groups: some Collection<UniqueID> { ofGroup.keys }

    /// The socket that waits for a question.
    subscript(id: UInt64) -> Session? { sessions[id] }

    /// The sockets that wait for an answer about a group.
    func sessions(about group: UniqueID) -> [Session] {
        (ofGroup[group] ?? []).compactMap { sessions[$0] }
    }

    /// Adds a question that a socket waits for.
    mutating func add(_ question: Session.Question, of session: Session) {
        sessions[question.id] = session
        ofGroup[question.group, default: []].insert(question.id)
    }

    /// Removes a question that nobody waits for any more.
    mutating func remove(_ question: Session.Question) {
        sessions[question.id] = nil
        guard var ids = ofGroup.removeValue(forKey: question.group) else { return }
        ids.remove(question.id)
        if !ids.isEmpty { ofGroup[question.group] = ids }
    }
}
