internal import ClientTransport
public import Foundation

/// The kit's own session: signs in, keeps the tokens, refreshes them, signs out.
///
/// A refused call does not end the session: the token is refreshed once. Only a refused refresh
/// does, and so does signing out. Refreshes never overlap, since each refresh token is taken once.
public actor AccountSession: SessionProvider {
    /// A token with less life than this is refreshed before it is used.
    static let margin = Duration.seconds(30)
    static let key = "session"

    /// What survives a launch.
    struct Stored: Codable, Equatable {
        var account: SignedInAccount
        var accessToken: String
        var refreshToken: String
        var expiresAt: Date
    }

    private let transport: any CompanionTransport
    private let store: any CompanionStore
    private let clock: any CompanionClock
    private var stored: Stored?
    private var epoch = 0
    /// Whether nobody has signed in or out here yet, so that the store knows best.
    private var isAsStored = true
    private var refresh: Task<Stored, any Error>?

    /// Makes a session, signed in if the store says so.
    ///
    /// - Parameters:
    ///   - transport: Carries the calls.
    ///   - store: Keeps the tokens; on Apple's systems a `KeychainStore`.
    ///   - clock: Tells when tokens end.
    public init(
        transport: any CompanionTransport,
        store: any CompanionStore,
        clock: any CompanionClock = SystemCompanionClock()
    ) {
        self.transport = transport
        self.store = store
        self.clock = clock
        stored = store.value(Stored.self, for: Self.key)
    }

    /// Who is signed in now.
    public func state() -> SessionState {
        recall()
        return SessionState(epoch: epoch, account: stored?.account)
    }

    /// Looks once more for who was signed in: the system may launch an app before the phone is
    /// unlocked for the first time, and the keychain gives nothing until then.
    private func recall() {
        guard isAsStored, stored == nil,
            let found = store.value(Stored.self, for: Self.key)
        else { return }
        epoch += 1
        stored = found
    }

    // MARK: - In and out

    /// Signs in.
    ///
    /// - Parameters:
    ///   - handle: A handle or an e-mail address.
    ///   - password: The password.
    ///   - serverURL: The server.
    /// - Returns: The account.
    /// - Throws: ``CompanionError``.
    @discardableResult
    public func signIn(
        _ handle: String,
        password: String,
        serverURL: URL
    ) async throws -> SignedInAccount {
        let name = handle.contains("@") ? "email" : "handle"
        return try await enter("login", [name: handle, "password": password], serverURL)
    }

    /// Makes an account and signs in.
    ///
    /// - Parameters:
    ///   - handle: 3 to 24 letters, digits, `_`, `.` or `-`.
    ///   - password: The password.
    ///   - serverURL: The server.
    /// - Returns: The account.
    /// - Throws: ``CompanionError``, with the code `handle.taken` for a handle that exists.
    @discardableResult
    public func signUp(
        _ handle: String,
        password: String,
        serverURL: URL
    ) async throws -> SignedInAccount {
        try await enter("register", ["handle": handle, "password": password], serverURL)
    }

    /// Signs out; the server hears of it if it can be reached.
    public func signOut() async {
        recall()
        guard let stored else {
            // Of a store that gives nothing yet nobody is to come back.
            isAsStored = false
            return store.set(nil, for: Self.key)
        }
        end()
        var token = stored.accessToken
        if stored.expiresAt <= clock.now {
            // Only a live token ends its session.
            guard let fresh = try? await issued(refreshRequest(stored), stored.account.serverURL)
            else { return }
            token = fresh.accessToken
        }
        let request = CompanionRequest(
            method: "POST",
            path: "/api/v1/auth/logout",
            bearerToken: token
        )
        _ = try? await transport.answer(
            to: request,
            from: stored.account.serverURL,
            clock: clock
        )
    }

    private func enter(
        _ path: String,
        _ body: [String: String],
        _ serverURL: URL
    ) async throws -> SignedInAccount {
        let request = CompanionRequest(
            method: "POST",
            path: "/api/v1/auth/\(path)",
            body: try WireCoding.body(body)
        )
        let tokens = try await issued(request, serverURL)
        let account = SignedInAccount(serverURL: serverURL, id: tokens.accountID)
        epoch += 1
        keep(tokens.stored(for: account, now: clock.now))
        return account
    }

    // MARK: - Tokens

    /// A token to call with.
    ///
    /// - Parameter refused: A token that is not to be given again.
    /// - Returns: A token.
    /// - Throws: ``CompanionError``.
    public func token(replacing refused: String?) async throws -> BearerToken {
        recall()
        guard let stored else { throw CompanionError.notSignedIn }
        let life = stored.expiresAt.timeIntervalSince(clock.now)
        guard stored.accessToken == refused || life < Self.margin.seconds else {
            return BearerToken(text: stored.accessToken, expiresAt: stored.expiresAt)
        }
        let fresh = try await refreshed()
        return BearerToken(text: fresh.accessToken, expiresAt: fresh.expiresAt)
    }

    private func refreshed() async throws -> Stored {
        if let refresh { return try await refresh.value }
        // A task of its own: whoever asked may be cancelled, the spent token is gone all the same.
        let refresh = Task { try await self.fetchTokens() }
        self.refresh = refresh
        defer { self.refresh = nil }
        return try await refresh.value
    }

    private func fetchTokens() async throws -> Stored {
        guard let before = stored else { throw CompanionError.notSignedIn }
        let answer: IssuedTokens
        do {
            answer = try await issued(refreshRequest(before), before.account.serverURL)
        } catch let error as CompanionError {
            // Everything else may pass; a refused refresh token never comes back.
            guard case .server(status: 400...403, _, _, _) = error else { throw error }
            if stored == before { end() }
            throw CompanionError.notSignedIn
        }
        guard stored == before else { throw CompanionError.notSignedIn }
        let fresh = answer.stored(for: before.account, now: clock.now)
        keep(fresh)
        return fresh
    }

    private func refreshRequest(_ stored: Stored) throws -> CompanionRequest {
        CompanionRequest(
            method: "POST",
            path: "/api/v1/auth/refresh",
            body: try WireCoding.body(["refresh_token": stored.refreshToken])
        )
    }

    private func issued(
        _ request: CompanionRequest,
        _ serverURL: URL
    ) async throws -> IssuedTokens {
        let response = try await transport.answer(to: request, from: serverURL, clock: clock)
        let tokens: IssuedTokens = try WireCoding.read(try WireCoding.accepted(response))
        guard ServerSecurity.isToken(tokens.accessToken) else {
            throw CompanionError.decoding("the token is no token")
        }
        return tokens
    }

    private func keep(_ fresh: Stored) {
        isAsStored = false
        stored = fresh
        store.setValue(fresh, for: Self.key)
    }

    private func end() {
        isAsStored = false
        epoch += 1
        stored = nil
        store.set(nil, for: Self.key)
    }
}

/// What the server gives at sign-in and refresh.
private struct IssuedTokens: Decodable {
    var accessToken: String
    var refreshToken: String
    var expiresInSeconds: Int
    var accountID: AccountID

    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case expiresInSeconds = "expires_in"
        case accountID = "account_id"
    }

    func stored(for account: SignedInAccount, now: Date) -> AccountSession.Stored {
        AccountSession.Stored(
            account: account,
            accessToken: accessToken,
            refreshToken: refreshToken,
            expiresAt: now.addingTimeInterval(Double(expiresInSeconds))
        )
    }
}
