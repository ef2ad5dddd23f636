internal import Foundation

/// What a phone says on the relay, and what it looks after while it is connected.
extension ConvoyRelay {
    /// Tells where this phone is; the relay knows to whom that goes.
    ///
    /// - Parameter reading: Where.
    /// - Returns: Whether it went out: not while there is no connection, nor sooner than 2 s after
    ///   the last one, nor from a place that is not on Earth.
    @discardableResult
    public func sendLocation(_ reading: LocationReading) async -> Bool {
        await checkSession()
        guard reading.coordinate.isOnEarth else { return false }
        let now = clock.uptime
        if let last = lastSentAtUptime, now - last < Self.sendInterval { return false }
        guard live != nil, state.isConnected else { return false }
        lastSentAtUptime = now
        return await send(.location(reading))
    }

    /// Tells where this phone is; a reading that comes a little too soon waits until it is due.
    ///
    /// Readings come each second, give or take: one that came a millisecond short of two seconds
    /// and were dropped would make four of them.
    func sendLocationWhenDue(_ reading: LocationReading) async {
        if let last = lastSentAtUptime {
            let early = last + Self.sendInterval - clock.uptime
            if early > .zero, early < Self.sendInterval / 5 {
                do { try await clock.sleep(for: early) } catch { return }
            }
        }
        await sendLocation(reading)
    }

    // MARK: - Votes

    /// Opens a vote in the convoy, or announces a decision when there is one candidate.
    ///
    /// - Parameter candidates: 1 to 3.
    /// - Returns: Whether the others were told; the round is on this phone's table all the same.
    @discardableResult
    public func offerSpin(_ candidates: [SpinCandidate]) async -> Bool {
        await checkSession()
        guard let convoy = state.convoy, 1...SpinRound.candidateLimit ~= candidates.count,
            candidates.allSatisfy(\.canBeOffered)
        else { return false }
        state.openSpin(candidates)
        publish()
        return await send(.spinOffer(convoy.id, candidates))
    }

    /// Votes, or changes this phone's vote.
    ///
    /// - Parameter index: The candidate's place in the round.
    /// - Returns: Whether the others were told.
    @discardableResult
    public func vote(_ index: Int) async -> Bool {
        await checkSession()
        guard let convoy = state.convoy, let spin = state.spin, spin.decision == nil,
            spin.candidates.indices.contains(index)
        else { return false }
        state.vote(index)
        publish()
        let wasSent = await send(.spinVote(convoy.id, index))
        await closeFinishedSpin()
        return wasSent
    }

    /// Ends this phone's own round with whatever leads now.
    ///
    /// - Returns: Whether the others were told.
    @discardableResult
    public func closeSpin() async -> Bool {
        guard let spin = state.spin, spin.isMine, spin.decision == nil else { return false }
        return await offerSpin([spin.candidates[spin.leader]])
    }

    /// Announces the winner once everyone has voted; only the phone that opened the round does.
    func closeFinishedSpin() async {
        guard case .close = state.spinOutcome else { return }
        await closeSpin()
    }

    // MARK: - Voice

    /// Tells that this phone begins or stops to speak; does nothing while voice is off.
    public func setTalking(_ isTalking: Bool) async {
        guard features.voice, let convoy = state.convoy else { return }
        await send(isTalking ? .voiceStart(convoy.id) : .voiceEnd(convoy.id))
    }

    /// Sends a piece of voice; does nothing while voice is off.
    public func sendVoice(_ bytes: [UInt8]) async {
        guard features.voice, let convoy = state.convoy else { return }
        await send(.voice(convoy.id, bytes))
    }

    @discardableResult
    func send(_ frame: OutboundFrame) async -> Bool {
        guard let connection = live?.connection, state.isConnected else { return false }
        do {
            try await connection.send(frame.text)
            return true
        } catch {
            // The listening side sees the same break and reconnects.
            return false
        }
    }

    // MARK: - Housekeeping

    /// Hides peers whose time is up, notices a change of session and a relay that confirms nothing,
    /// keeps the token fresh.
    func keepHouse() async {
        while !Task.isCancelled {
            do { try await clock.sleep(for: Self.housekeepingInterval) } catch { return }
            await checkSession()
            state.prune(at: clock.uptime)
            publish()
            await closeFinishedSpin()
            await renewToken()
            await giveUpUnconfirmed()
        }
    }

    /// A relay drops joins that come too fast, and answers none of them.
    private func giveUpUnconfirmed() async {
        guard let live, !state.isConnected,
            clock.uptime - live.openedAtUptime >= Self.openTimeout
        else { return }
        state.lastError = RelayError.message(of: Self.silence)
        await live.connection.close()
    }
}

extension SpinCandidate {
    /// One bad candidate would void the whole offer at the relay.
    fileprivate var canBeOffered: Bool {
        coordinate.isOnEarth && (name ?? "").unicodeScalars.count <= SpinRound.nameLimit
    }
}
