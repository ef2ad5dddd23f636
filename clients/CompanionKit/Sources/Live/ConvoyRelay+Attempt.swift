internal import ClientTransport
internal import Foundation

/// One connection of the relay's client, from its token to its end.
extension ConvoyRelay {
    static let silence = RelayError.failed("The server does not answer")

    /// Connects and listens until the connection ends.
    ///
    /// - Returns: Whether it had worked, so that the next pause may be short.
    func attempt() async -> Bool {
        guard let token = await freshToken() else { return false }
        // Before it goes anywhere: it may be somebody else's by now, for another server.
        await checkSession()
        guard isWorthTrying else { return false }
        do {
            let connection = try await open(token)
            await checkSession()
            guard isWorthTrying else {
                await connection.close()
                return false
            }
            connectionCount += 1
            live = Live(
                number: connectionCount,
                connection: connection,
                openedAtUptime: clock.uptime,
                token: token
            )
        } catch {
            note(error, token)
            return false
        }
        var wasReplaced = false
        do {
            try await listen()
        } catch {
            note(error, live?.token ?? token)
            wasReplaced = (error as? RelayError)?.isReplacement ?? false
        }
        await live?.connection.close()
        live = nil
        answerJoins(false)
        // Two phones of one person would take the connection from each other for ever.
        return state.isConnected && !wasReplaced
    }

    private func open(_ token: BearerToken) async throws -> any RelayConnection {
        let connection = try await patiently { [socket] in
            try await socket.open(bearer: token.text)
        } late: {
            await $0.close()
        }
        return BoundedConnection(connection, clock)
    }

    /// Waits for something as long as an attempt may, but not longer than until a stop.
    func patiently<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value,
        late: @escaping @Sendable (Value) async -> Void = { _ in }
    ) async throws -> Value {
        let deadline = clock.deadline(Self.openTimeout)
        let waiting = Task { try await deadline.run(work, late: late) }
        giveUp = { waiting.cancel() }
        defer { giveUp = nil }
        do {
            return try await waiting.value
        } catch is Deadline.Passed {
            throw Self.silence
        }
    }

    private func listen() async throws {
        try await sendJoins()
        while let text = try await live?.connection.receive() {
            guard let frame = RelayFrame(text) else { continue }
            guard await take(frame) else { return }
        }
    }

    /// A connection that had worked and broke is no news: the next one is on its way.
    private func note(_ error: any Error, _ token: BearerToken) {
        if (error as? RelayError)?.isAboutToken == true { refusedToken = token.text }
        if !state.isConnected, !isStopped { state.lastError = RelayError.message(of: error) }
    }

    func sendJoins() async throws {
        while let live,
            let group = state.wanted.first(where: { !live.joined.contains($0.id) })
        {
            // Marked first: a change of what is followed may come while the frame goes out.
            self.live?.joined.insert(group.id)
            joins[group.id, default: []].append(nil)
            try await live.connection.send(OutboundFrame.join(group.id).text)
        }
    }

    /// Takes a frame in.
    ///
    /// - Returns: Whether the attempt goes on.
    private func take(_ frame: RelayFrame) async -> Bool {
        switch frame {
        case .authenticated(let milliseconds):
            live?.token.expiresAt = Date(milliseconds: milliseconds)
        case .joined(let group?): answerJoin(of: group, true)
        case .error(_, let group?): answerJoin(of: group, false)
        default: break
        }
        let action = state.apply(frame, at: clock.uptime)
        live?.joined.formIntersection(state.wanted.map(\.id))
        publish()
        switch action {
        case .proceed: break
        case .endAttempt: return false
        case .announce(let event): placeEventReaders.send(event)
        case .play(let chunk): voiceReaders.send(chunk)
        }
        await closeFinishedSpin()
        return true
    }
}
