import Bus
import Database
import FoundationEssentials
import Messages
import ServiceKit
import Synchronization
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// A verifier on the bus as auth sees it: it answers, or it is away.
private final class FakeVerifier: Sendable {
    private struct State {
        var answer: RideReply.Body?
        var pages: [[UInt8]] = []
        var asked: [RideRequest.Body] = []
    }

    private let state: Mutex<State>

    init(_ answer: RideReply.Body? = .erased) { state = Mutex(State(answer: answer)) }

    var asked: [RideRequest.Body] { state.withLock { $0.asked } }

    func set(_ answer: RideReply.Body?) { state.withLock { $0.answer = answer } }

    func set(pages: [String]) { state.withLock { $0.pages = pages.map { Array($0.utf8) } } }

    var questions: VerifierQuestions {
        VerifierQuestions(
            instances: { ["v1"] },
            ask: { body, instance, _ throws(BusError) in
                guard let request = try? RideRequest(decoding: body),
                    let answer = self.answer(to: request.body)
                else { throw .timeout(instance) }
                return RideReply(to: request, answer).encoded()
            }
        )
    }

    private func answer(to body: RideRequest.Body) -> RideReply.Body? {
        state.withLock { state in
            state.asked.append(body)
            if case .exportRider(let export) = body, !state.pages.isEmpty {
                return .exported(
                    export.page < state.pages.count ? state.pages[export.page] : []
                )
            }
            return state.answer
        }
    }
}

/// `DELETE /api/v1/rider/me` and `GET /api/v1/rider/me/export`.
@Suite(.timeLimit(.minutes(3))) struct RiderErasureTests {
    private let me = "/api/v1/rider/me"

    private func count(_ database: TestDatabase, _ table: String) async throws -> Int {
        try await database.query { connection throws(DatabaseError) in
            try connection.query("SELECT count(*) FROM auth.\(table)").one().int(0)
        }
    }

    @Test func `is confirmed when everything is gone, and the token with it`() async throws {
        let database = try await authDatabase()
        let verifier = FakeVerifier()
        let clock = ManualClock()
        try await withAuth(clock: clock, database: database, verifiers: verifier.questions) {
            auth async throws in
            let installation = UniqueID.random()
            let body = AuthTests.installation(installation)
            let rider = try await auth.register(body).decoded(AuthProcess.Registration.self)
            let id = try #require(UniqueID(rider.riderId))
            let answer = try await auth.send(.delete, me, token: rider.token)
            #expect(answer.status == 204)
            #expect(answer.body.isEmpty)
            guard case .eraseRider(let request) = verifier.asked.first else {
                Issue.record("the verifier was not asked to erase")
                return
            }
            #expect(request.riderID == id)
            #expect(request.forgottenUntil == clock.now + 8760 * 3600)
            #expect(verifier.asked.count == 1)
            let rest = try await AuthDump(database).text
            #expect(!rest.contains(rider.riderId))
            #expect(!rest.contains(installation.description))
            for table in ["riders", "erasures", "blocked_installations"] {
                #expect(try await count(database, table) == 0, "\(table)")
            }
            #expect(try await auth.send(.delete, me, token: rider.token).status == 401)
            // The installation is a new one from here on.
            let again = try await auth.register(body)
            #expect(again.status == 201)
            let other = try again.decoded(AuthProcess.Registration.self)
            #expect(other.riderId != rider.riderId)
            #expect(try await auth.send(.delete, me, token: other.token).status == 204)
        }
    }

    @Test func `while the verifier is away it is under way, and swept until it is done`()
        async throws
    {
        let database = try await authDatabase()
        let verifier = FakeVerifier(nil)
        try await withAuth(database: database, verifiers: verifier.questions) {
            auth async throws in
            let body = installation()
            let rider = try await auth.register(body).decoded(AuthProcess.Registration.self)
            let answer = try await auth.send(.delete, me, token: rider.token)
            #expect(answer.status == 202)
            #expect(answer.text == #"{"status":"erasure under way"}"#)
            #expect(try await auth.send(.delete, me, token: rider.token).status == 401)
            await auth.trust.erasures.sweep()
            #expect(try await count(database, "erasures") == 1)
            #expect(try await count(database, "riders") == 1)
            // Until it is done the installation is neither the old rider nor a new one.
            let early = try await auth.register(body)
            #expect(early.status == 503)
            #expect(early.headers.first("Retry-After") == "5")
            #expect(try early.decoded(AuthProcess.Refusal.self).code == "rider.being_erased")
            verifier.set(.refused(RideRefusal(.unavailable)))
            await auth.trust.erasures.sweep()
            #expect(try await count(database, "erasures") == 1)
            verifier.set(.erased)
            await auth.trust.erasures.sweep()
            #expect(try await count(database, "erasures") == 0)
            #expect(try await count(database, "riders") == 0)
            #expect(try await auth.register(body).status == 201)
        }
    }

    @Test func `a second auth sweeps what the first has begun`() async throws {
        let database = try await authDatabase()
        let verifier = FakeVerifier(nil)
        try await withAuth(database: database, verifiers: verifier.questions) {
            one async throws in
            let rider = try await one.register().decoded(AuthProcess.Registration.self)
            #expect(try await one.send(.delete, me, token: rider.token).status == 202)
            verifier.set(.erased)
            try await withAuth(database: database, verifiers: verifier.questions) {
                two async throws in
                async let first: Void = one.trust.erasures.sweep()
                async let second: Void = two.trust.erasures.sweep()
                _ = await (first, second)
                #expect(try await two.send(.delete, me, token: rider.token).status == 401)
            }
            #expect(try await count(database, "erasures") == 0)
        }
    }

    @Test func `a blocked installation comes back as the same blocked rider, and only it`()
        async throws
    {
        let database = try await authDatabase()
        let verifier = FakeVerifier(.erasedButBlocked)
        let clock = ManualClock()
        try await withAuth(clock: clock, database: database, verifiers: verifier.questions) {
            auth async throws in
            let installation = UniqueID.random()
            let body = AuthTests.installation(installation)
            let rider = try await auth.register(body).decoded(AuthProcess.Registration.self)
            #expect(try await auth.send(.delete, me, token: rider.token).status == 204)
            guard case .eraseRider(let request) = verifier.asked.first else {
                Issue.record("the verifier was not asked to erase")
                return
            }
            let successor = try #require(request.successorID)
            let rest = try await AuthDump(database).text
            #expect(rest.contains(successor.description))
            #expect(!rest.contains(rider.riderId))
            #expect(!rest.contains(installation.description))
            let back = try await auth.register(body).decoded(AuthProcess.Registration.self)
            #expect(back.riderId == successor.description)
            let other = try await auth.register().decoded(AuthProcess.Registration.self)
            #expect(other.riderId != back.riderId)
            // Once more, in the same second: the new token is not the old one's victim.
            #expect(try await auth.send(.delete, me, token: back.token).status == 204)
            guard case .eraseRider(let second) = verifier.asked.last else { return }
            #expect(second.riderID == successor)
            #expect(second.forgottenUntil == second.receivedAt + 60)
            let third = try await auth.register(body).decoded(AuthProcess.Registration.self)
            #expect(third.riderId == successor.description)
            #expect(try await auth.send(.delete, me, token: back.token).status == 401)
            #expect(try await auth.send(.delete, me, token: third.token).status == 204)
        }
    }

    @Test func `an auth that comes late with an erasure leaves who has come back alone`()
        async throws
    {
        let database = try await authDatabase()
        let verifier = FakeVerifier(.erasedButBlocked)
        let seen = Mutex<[Erasure]>([])
        let watcher = ErasureOwner(
            name: "watcher",
            kinds: [.rider],
            erase: { erasure in
                seen.withLock { $0.append(erasure) }
                return .clean
            }
        )
        try await withAuth(
            database: database,
            verifiers: verifier.questions,
            owners: [watcher]
        ) { auth async throws in
            let body = installation()
            // The second time it is the blocked rider that is forgotten, whose id comes back.
            for _ in 0..<2 {
                let rider = try await auth.register(body).decoded(AuthProcess.Registration.self)
                #expect(try await auth.send(.delete, me, token: rider.token).status == 204)
            }
            let back = try await auth.register(body).decoded(AuthProcess.Registration.self)
            let late = try #require(seen.withLock { $0.last })
            #expect(late.subject.description == back.riderId)
            #expect(await auth.trust.erasures.carryOut(late))
            #expect(try await count(database, "riders") == 1)
            #expect(try await auth.send(.delete, me, token: back.token).status == 204)
        }
    }

    @Test func `the hash of an installation depends on the secret`() {
        let installation = UniqueID.random()
        let ring = { (secret: String) in KeyRing(secret: Secret(secret), families: [.rider]) }
        let one = ring("0123456789abcdef0123456789abcdef")
        let two = ring("another-secret-of-thirty-two-byte")
        #expect(
            one.pseudonym(ofInstallation: installation)
                == one.pseudonym(ofInstallation: installation)
        )
        #expect(
            one.pseudonym(ofInstallation: installation)
                != two.pseudonym(ofInstallation: installation)
        )
        #expect(
            one.pseudonym(ofInstallation: installation) != one.pseudonym(ofInstallation: .random())
        )
        let rotated = KeyRing(
            secret: Secret("0123456789abcdef0123456789abcdef"),
            families: [.rider],
            generation: 7
        )
        #expect(
            rotated.pseudonym(ofInstallation: installation)
                == one.pseudonym(ofInstallation: installation)
        )
    }

    @Test func `a database that is away begins nothing`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let database = try await authDatabase(postgres)
        let verifier = FakeVerifier()
        try await withAuth(database: database, verifiers: verifier.questions) {
            auth async throws in
            let rider = try await auth.register().decoded(AuthProcess.Registration.self)
            try await postgres.stop()
            let away = try await auth.send(.delete, me, token: rider.token)
            #expect(away.status == 503)
            #expect(away.headers.first("Retry-After") == "2")
            #expect(verifier.asked.isEmpty)
            try await postgres.start()
            while try await auth.send(.delete, me, token: rider.token).status != 204 {
                await Task.yield()
            }
        }
    }

    // MARK: - Export

    @Test func `the export is what auth and the verifiers store`() async throws {
        let verifier = FakeVerifier()
        verifier.set(pages: [#"{"tier":"new"}"#, #"{"id":1},{"id":2}"#, #"{"id":3}"#])
        try await withAuth(verifiers: verifier.questions) { auth async throws in
            let installation = UniqueID.random()
            let rider = try await auth.register(AuthTests.installation(installation))
                .decoded(AuthProcess.Registration.self)
            let answer = try await auth.send(.get, me + "/export", token: rider.token)
            #expect(answer.status == 200)
            #expect(answer.headers.first("Content-Type") == "application/json")
            #expect(answer.headers.values("Cache-Control") == ["no-store"])
            #expect(
                answer.text == """
                    {"rider":{"rider_id":"\(rider.riderId)","installation_id":"\(installation)",\
                    "platform":"ios","app_id":"org.example.app","app_version":"1.0",\
                    "created_at":"2026-02-16T16:00:00Z","last_seen_at":"2026-02-16T16:00:00Z",\
                    "tokens_until":"2027-02-16T16:00:00Z"},\
                    "reputation":{"tier":"new"},"rides":[{"id":1},{"id":2},{"id":3}]}
                    """
            )
        }
    }

    @Test func `who never rode has no standing and no rides`() async throws {
        let verifier = FakeVerifier()
        verifier.set(pages: [""])
        try await withAuth(verifiers: verifier.questions) { auth async throws in
            let rider = try await auth.register().decoded(AuthProcess.Registration.self)
            let answer = try await auth.send(.get, me + "/export", token: rider.token)
            #expect(answer.text.hasSuffix(#","reputation":null,"rides":[]}"#))
        }
    }

    @Test func `an export without verifiers is 503, and the sixth in a minute 429`()
        async throws
    {
        let database = try await authDatabase()
        try await withAuth(database: database) { auth async throws in
            let rider = try await auth.register().decoded(AuthProcess.Registration.self)
            for _ in 0..<5 {
                let answer = try await auth.send(.get, me + "/export", token: rider.token)
                #expect(answer.status == 503)
                #expect(answer.headers.first("Retry-After") == "2")
            }
            let late = try await auth.send(.get, me + "/export", token: rider.token)
            #expect(late.status == 429)
            #expect(try late.decoded(AuthProcess.Refusal.self).code == "rate.exports")
            let attempts = try await database.query { connection throws(DatabaseError) in
                try connection.query(
                    "SELECT string_agg(caller, ' ') FROM auth.attempts"
                ).one().text(0)
            }
            #expect(!attempts.contains(rider.riderId))
        }
    }

    @Test(arguments: [Role.member, .driver, .admin])
    func `is for riders alone`(role: Role) async throws {
        let clock = ManualClock()
        try await withAuth(clock: clock) { auth async throws in
            let token = TestTokens(clock: clock.application).token(role)
            #expect(try await auth.send(.delete, me, token: token).status == 403)
            #expect(try await auth.send(.get, me + "/export", token: token).status == 403)
        }
    }
}
