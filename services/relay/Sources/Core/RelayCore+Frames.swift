internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit

extension RelayCore {
    /// A text message of an open socket.
    ///
    /// - Parameters:
    ///   - message: UTF-8.
    ///   - session: The socket; not one that waits for an answer.
    ///   - readAt: When it was read, the application clock, POSIX milliseconds: it may have waited since.
    ///   - now: This moment.
    ///   - claims: Verifies a token; nil for one that does not count.
    func receive(
        _ message: [UInt8],
        from session: Session,
        readAt: Int64,
        at now: Moment,
        claims: (String) -> TokenClaims?
    ) {
        let reading = ClientFrame.read(message)
        if case .malformed = reading { return metrics.dropped(.malformed) }
        guard session.budget.take(at: now.uptime) else { return metrics.dropped(.overBudget) }
        switch reading {
        case .malformed: break
        case .refused(.unknownType): metrics.dropped(.unknownType)
        case .refused(.invalid): metrics.dropped(.invalid)
        case .frame(let frame):
            metrics.received(frame)
            handle(frame, from: session, readAt: readAt, at: now, claims: claims)
        }
    }

    private func handle(
        _ frame: ClientFrame,
        from session: Session,
        readAt: Int64,
        at now: Moment,
        claims: (String) -> TokenClaims?
    ) {
        switch frame {
        case .join(let group): ask(.join, about: group, for: session, at: now)
        case .location(let location): locate(session, location, readAt: readAt, at: now)
        case .offer(let group, let candidates):
            vote(.offer(candidates), in: group, from: session, at: now)
        case .vote(let group, let index): vote(.vote(index), in: group, from: session, at: now)
        case .auth(let token):
            guard let fresh = claims(token), fresh.subject == session.claims.subject,
                fresh.role == session.claims.role
            else { return send(ServerFrame.error(ServerFrame.tokenRefused), to: session) }
            session.claims = fresh
            // The session of before may end without this socket.
            effects.append(.publish(part: RelayPresence.part(of: session.account)))
            send(ServerFrame.auth(expiresAtMilliseconds: fresh.expiresAt * 1000), to: session)
        }
    }

    private func vote(
        _ ballot: RelayedVote.Ballot,
        in group: UniqueID,
        from session: Session,
        at now: Moment
    ) {
        guard session.joined.contains(group) else { return metrics.dropped(.gate) }
        ask(.ballot(ballot), about: group, for: session, at: now)
    }

    // MARK: - Questions

    /// Asks groups whether the rider may; the socket's next frame waits for the answer.
    private func ask(
        _ purpose: Session.Question.Purpose,
        about group: UniqueID,
        for session: Session,
        at now: Moment
    ) {
        let id = nextQuestion()
        let question = Session.Question(
            id: id,
            purpose: purpose,
            group: group,
            deadline: now.uptime + limits.askLimit.nanoseconds
        )
        session.question = question
        questions.add(question, of: session)
        effects.append(.ask(id, account: session.account, group: group))
    }

    /// Groups has answered a question, or with nil could not.
    func answered(_ id: UInt64, _ reply: MembershipReply?, at now: Moment) {
        guard let session = questions[id], var question = session.question, question.id == id,
            question.awaitsView == nil
        else { return }
        guard let reply else { return settle(session, question, .unknown, at: now) }
        if reply.isMember, reply.version < question.neededVersion, question.repeats < 3 {
            question.repeats += 1
            session.question = question
            effects.append(.ask(id, account: session.account, group: question.group))
            return
        }
        guard reply.isMember, reply.version >= question.neededVersion else {
            doubt(question.group, of: session, at: now)
            return settle(session, question, .no, at: now)
        }
        switch question.purpose {
        case .ballot(let ballot):
            settle(session, question, .yes, at: now)
            guard reply.allowsVotes else { return metrics.dropped(.gate) }
            let vote = RelayedVote(
                accountID: session.account,
                groupID: question.group,
                version: reply.version,
                claim: session.claim,
                ballot: ballot
            )
            spread(vote, at: now)
        case .join:
            if let group = groups[question.group], !group.isStale, !awaitsLook,
                group.version >= reply.version
            {
                return settle(session, question, .yes, at: now)
            }
            question.awaitsView = reply.version
            session.question = question
            if let group = groups[question.group] { need(reply.version, of: group) }
            fetch.want(group: question.group)
        }
    }

    private enum Outcome { case yes, no, unknown }

    private func settle(
        _ session: Session,
        _ question: Session.Question,
        _ outcome: Outcome,
        at now: Moment
    ) {
        questions.remove(question)
        session.question = nil
        effects.append(.resume(session))
        guard case .join = question.purpose else {
            if outcome != .yes { metrics.dropped(.gate) }
            return
        }
        switch outcome {
        case .yes: join(session, question.group, at: now)
        case .no:
            send(ServerFrame.error(ServerFrame.notMember, group: question.group), to: session)
        case .unknown: send(ServerFrame.error(ServerFrame.cannotCheck), to: session)
        }
    }

    /// Lets a socket into a group: `joined`, then where the others are (decision 29).
    private func join(_ session: Session, _ id: UniqueID, at now: Moment) {
        guard let group = groups[id], group.members[session.account] != nil else {
            return send(ServerFrame.error(ServerFrame.notMember, group: id), to: session)
        }
        session.joined.insert(id)
        send(ServerFrame.joined(id), to: session, about: id)
        guard isUsable(group, at: now) else { return }
        for member in group.members.values where member.accountID != session.account {
            guard let (fix, seconds) = group.aliveFix(of: member, at: now.milliseconds) else {
                continue
            }
            session.outbox.add(position(fix.accountID, fix.row(ttlSeconds: seconds)))
        }
        touch(session)
    }

    /// A view has come: joins that waited for it go on.
    func settleJoins(of id: UniqueID, at now: Moment) {
        for session in questions.sessions(about: id) {
            guard let question = session.question, let version = question.awaitsView else {
                continue
            }
            guard let group = groups[id] else {
                settle(session, question, .no, at: now)
                continue
            }
            if !group.isStale, !awaitsLook, group.version >= version {
                settle(session, question, .yes, at: now)
            }
        }
    }

    /// Groups says no about someone whom the held view shows: an event was lost.
    private func doubt(_ id: UniqueID, of session: Session, at now: Moment) {
        guard let group = groups[id], group.members[session.account] != nil else { return }
        suspect(group, at: now)
    }

    /// Notes that a group has changed for those who wait for an answer about it.
    func voidAnswers(about id: UniqueID, before version: UInt64) {
        for session in questions.sessions(about: id) {
            let known = session.question?.neededVersion ?? 0
            session.question?.neededVersion = max(version, known)
        }
    }

    /// Settles questions that nobody answered in time.
    func settleLate(at now: Moment) {
        for session in Array(questions.values) {
            guard let question = session.question, question.deadline <= now.uptime else { continue }
            settle(session, question, .unknown, at: now)
        }
    }
}
