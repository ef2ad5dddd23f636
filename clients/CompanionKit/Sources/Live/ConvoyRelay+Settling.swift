/// Being sure that the relay has handled what was sent.
extension ConvoyRelay {
    /// Waits until the relay has handled everything that this phone sent in its convoy so far.
    ///
    /// The relay answers no vote, and drops the one that it was still looking at when the phone goes.
    /// It handles the frames of a connection in turn, so this joins the convoy once more, and the
    /// answer to that comes after the rest. Give it a limit: a relay that is flooded answers nothing.
    ///
    /// - Returns: Whether it did; false when there is no convoy or no connection, when the
    ///   connection ends first, and when the relay says no to the convoy.
    public func settled() async -> Bool {
        await checkSession()
        guard let convoy = state.convoy, live?.joined.contains(convoy.id) ?? false else {
            return false
        }
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
        joins[convoy.id, default: []].append(answer)
        guard await send(.join(convoy.id)) else {
            answerJoins(false)
            return false
        }
        for await isIn in answers { return isIn }
        return false
    }

    /// Tells who waits for it that a join was answered; joins are answered in turn.
    func answerJoin(of group: GroupID, _ isIn: Bool) {
        guard var waiting = joins[group], !waiting.isEmpty else { return }
        let first = waiting.removeFirst()
        joins[group] = waiting
        first?.yield(isIn)
    }

    /// Tells all who wait for a join that none will be answered as they want.
    func answerJoins(_ isIn: Bool) {
        for waiting in joins.values.joined() { waiting?.yield(isIn) }
        joins = [:]
    }
}
