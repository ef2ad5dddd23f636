import Foundation
import Synchronization
import Testing

@testable import CompanionKit

/// Spec 1.8: a refused call refreshes once; only a refused refresh ends the session.
@Suite struct AccountSessionTests {
    let store = InMemoryCompanionStore()
    let clock = ManualCompanionClock()

    static func tokens(_ number: Int) -> String {
        """
        {"token":"a\(number)","access_token":"a\(number)","refresh_token":"r\(number)",
         "expires_in":900,"account_id":"\(People.me)","role":"member"}
        """
    }

    func session(_ transport: ScriptedTransport) -> AccountSession {
        AccountSession(transport: transport, store: store, clock: clock)
    }

    func signedIn(_ transport: ScriptedTransport) async throws -> AccountSession {
        let session = session(transport)
        try await session.signIn("me", password: "secret", serverURL: FakeSession.server)
        return session
    }

    @Test(arguments: [("me", "handle"), ("me@example.org", "email")])
    func `signs in by handle or address and stays over a launch`(
        name: String,
        key: String
    )
        async throws
    {
        let transport = ScriptedTransport(.answer(200, Self.tokens(1)))
        let account = try await session(transport)
            .signIn(name, password: "secret", serverURL: FakeSession.server)
        #expect(account.id == People.me)
        #expect(transport.requests[0].path == "/api/v1/auth/login")
        #expect(
            transport.requests[0].json == [key: .text(name), "password": .text("secret")]
        )
        let later = session(transport)
        #expect(await later.state().account == account)
        #expect(try await later.token(replacing: nil).text == "a1")
        #expect(transport.requests.count == 1)
    }

    @Test func `signs up`() async throws {
        let transport = ScriptedTransport(.answer(201, Self.tokens(1)))
        let session = session(transport)
        try await session.signUp("me", password: "secret", serverURL: FakeSession.server)
        #expect(transport.requests[0].path == "/api/v1/auth/register")
        #expect(await session.state().epoch == 1)
    }

    @Test(arguments: [(869.0, "a1"), (870, "a1"), (871, "a2")])
    func `refreshes a token that is about to end`(seconds: Double, text: String) async throws {
        let transport = ScriptedTransport(
            .answer(200, Self.tokens(1)),
            .answer(200, Self.tokens(2))
        )
        let session = try await signedIn(transport)
        clock.advance(by: .seconds(seconds))
        #expect(try await session.token(replacing: nil).text == text)
    }

    @Test func `refreshes once for many who come together`() async throws {
        let transport = ScriptedTransport(
            .answer(200, Self.tokens(1)),
            .answer(200, Self.tokens(2)),
            .answer(401, #"{"error":"spent","code":"refresh.refused"}"#)
        )
        let session = try await signedIn(transport)
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask { try await session.token(replacing: "a1").text }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(texts == ["a2"])
        #expect(transport.requests.map(\.json?["refresh_token"]?.text).last == "r1")
        #expect(transport.requests.count == 2)
    }

    @Test func `ends by a refused refresh`() async throws {
        let transport = ScriptedTransport(
            .answer(200, Self.tokens(1)),
            .answer(401, #"{"error":"gone","code":"refresh.refused"}"#)
        )
        let session = try await signedIn(transport)
        await #expect(throws: CompanionError.notSignedIn) {
            try await session.token(replacing: "a1")
        }
        #expect(await session.state() == SessionState(epoch: 2, account: nil))
        #expect(await self.session(transport).state().account == nil)
    }

    @Test(arguments: [nil, 500, 503, 429])
    func `outlives a refresh that cannot be had now`(status: Int?) async throws {
        let transport = ScriptedTransport(
            .answer(200, Self.tokens(1)),
            status.map { .answer($0) } ?? .failure(.transport("no signal")),
            .answer(200, Self.tokens(2))
        )
        let session = try await signedIn(transport)
        await #expect(throws: CompanionError.self) { try await session.token(replacing: "a1") }
        #expect(await session.state().account?.id == People.me)
        #expect(try await session.token(replacing: "a1").text == "a2")
    }

    @Test func `signs out here at once and tells the server`() async throws {
        let transport = ScriptedTransport(.answer(200, Self.tokens(1)), .answer(204))
        let session = try await signedIn(transport)
        await session.signOut()
        #expect(await session.state() == SessionState(epoch: 2, account: nil))
        #expect(transport.requests.last?.path == "/api/v1/auth/logout")
        #expect(transport.requests.last?.bearerToken == "a1")
        await #expect(throws: CompanionError.notSignedIn) {
            try await session.token(replacing: nil)
        }
    }

    @Test func `needs a live token to end its session`() async throws {
        let transport = ScriptedTransport(
            .answer(200, Self.tokens(1)),
            .answer(200, Self.tokens(2)),
            .answer(204)
        )
        let session = try await signedIn(transport)
        clock.advance(by: .seconds(3600))
        await session.signOut()
        #expect(transport.requests.last?.bearerToken == "a2")
        #expect(store.data(for: AccountSession.key) == nil)
    }

    @Test(arguments: ["", "a b", "a\\r\\nX-Role: admin", "ä"])
    func `takes nothing for a token that cannot stand in a header`(token: String) async throws {
        let body = Self.tokens(1).replacing("_token\":\"a1", with: "_token\":\"\(token)")
        await #expect(throws: CompanionError.decoding("the token is no token")) {
            try await signedIn(ScriptedTransport(.answer(200, body)))
        }
        #expect(store.data(for: AccountSession.key) == nil)
    }

    @Test func `does not sign in with a wrong password`() async throws {
        let transport = ScriptedTransport(
            .answer(401, #"{"error":"invalid email or password","code":"login.refused"}"#)
        )
        await #expect {
            try await signedIn(transport)
        } throws: {
            ($0 as? CompanionError)?.code == "login.refused"
        }
        #expect(await session(transport).state() == SessionState(epoch: 0, account: nil))
    }

    /// The keychain of a phone that was not unlocked since it was switched on.
    final class LockedStore: CompanionStore {
        private let store: any CompanionStore
        private let isLocked = Mutex(true)

        init(_ store: any CompanionStore) { self.store = store }

        func unlock() { isLocked.withLock { $0 = false } }

        func data(for key: String) -> Data? {
            isLocked.withLock { $0 } ? nil : store.data(for: key)
        }

        func set(_ data: Data?, for key: String) {
            if !isLocked.withLock({ $0 }) { store.set(data, for: key) }
        }
    }

    @Test func `finds its account when the phone is unlocked after the launch`() async throws {
        let transport = ScriptedTransport(.answer(200, Self.tokens(1)), .answer(204))
        _ = try await signedIn(transport)
        let locked = LockedStore(store)
        let session = AccountSession(transport: transport, store: locked, clock: clock)
        #expect(await session.state() == SessionState(epoch: 0, account: nil))
        locked.unlock()
        #expect(try await session.token(replacing: nil).text == "a1")
        let account = SignedInAccount(serverURL: FakeSession.server, id: People.me)
        #expect(await session.state() == SessionState(epoch: 1, account: account))
        await session.signOut()
        #expect(await session.state() == SessionState(epoch: 2, account: nil))
    }

    @Test func `who signs out before the phone is unlocked is not signed in by the unlocking`()
        async throws
    {
        _ = try await signedIn(ScriptedTransport(.answer(200, Self.tokens(1))))
        let locked = LockedStore(store)
        let session = AccountSession(transport: ScriptedTransport(), store: locked, clock: clock)
        await session.signOut()
        locked.unlock()
        #expect(await session.state() == SessionState(epoch: 0, account: nil))
    }

    @Test func `who has signed out stays so, whatever the store keeps`() async throws {
        struct Stubborn: CompanionStore {
            let store: any CompanionStore
            func data(for key: String) -> Data? { store.data(for: key) }
            func set(_ data: Data?, for key: String) {
                if data != nil { store.set(data, for: key) }
            }
        }
        let session = AccountSession(
            transport: ScriptedTransport(.answer(200, Self.tokens(1)), .answer(204)),
            store: Stubborn(store: store),
            clock: clock
        )
        try await session.signIn("me", password: "secret", serverURL: FakeSession.server)
        await session.signOut()
        #expect(await session.state() == SessionState(epoch: 2, account: nil))
    }
}
