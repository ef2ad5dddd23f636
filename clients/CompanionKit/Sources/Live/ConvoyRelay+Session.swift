internal import ClientTransport
internal import Foundation

/// Who is signed in, and the token that proves it.
extension ConvoyRelay {
    /// Notices that somebody else signed in, or nobody is signed in any more.
    ///
    /// Everything that sends does so first, and so does a timer; an app that signs somebody out
    /// calls it to have the connection closed at once.
    public func checkSession() async {
        let state = await session.state()
        // Answers may overtake each other.
        if let epoch, state.epoch < epoch { return }
        self.state.me = state.account?.id
        defer { epoch = state.epoch }
        guard let epoch, epoch != state.epoch else { return }
        self.state.forgetAll()
        lastSentAtUptime = nil
        refusedToken = nil
        publish()
        if isRunning { await stop() }
    }

    /// A token to connect with; nil, and a word on the screen, when there is none.
    func freshToken() async -> BearerToken? {
        do {
            let token = try await patiently { [session, refusedToken] in
                try await session.token(replacing: refusedToken)
            }
            refusedToken = nil
            guard !token.text.isEmpty else { throw RelayError.notSignedIn }
            return token
        } catch {
            guard !isStopped else { return nil }
            let isSignedOut = error as? CompanionError == .notSignedIn
            state.lastError = RelayError.message(of: isSignedOut ? RelayError.notSignedIn : error)
            return nil
        }
    }

    /// The socket ends with its token unless a fresh one is sent.
    func renewToken() async {
        let uptime = clock.uptime
        guard let live, state.isConnected, let end = live.token.expiresAt,
            end.timeIntervalSince(clock.now) < Self.tokenMargin.seconds,
            live.renewalNotBefore <= uptime
        else { return }
        self.live?.renewalNotBefore = uptime + Self.tokenRetryInterval
        let fresh = try? await clock.deadline(Self.openTimeout).run { [session] in
            try await session.token(replacing: live.token.text)
        }
        guard let token = fresh, token.text != live.token.text else { return }
        // It may be somebody else's by now, or another connection has one of its own.
        await checkSession()
        guard !isStopped, self.live?.number == live.number else { return }
        self.live?.token = token
        await send(.authenticate(token.text))
    }
}
