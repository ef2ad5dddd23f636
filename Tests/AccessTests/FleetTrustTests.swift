import Bus
import Database
import Foundation
import Messages
import RiderIngestService
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// What auth and the other services say to each other over a real bus and a real database.
@Suite(.timeLimit(.minutes(2))) struct FleetTrustTests {
    @Test func `who is revoked at one auth is refused by the other and by ingest`()
        async throws
    {
        let fleet = try await TestFleet()
        let (one, onePort) = try await RunningService.start(
            Auth.definition,
            in: fleet,
            replacesHandlers: false
        )
        let (two, twoPort) = try await RunningService.start(
            Auth.definition,
            in: fleet,
            replacesHandlers: false
        )
        let (ingest, ingestPort) = try await RunningService.start(RiderIngest.definition, in: fleet)
        let client = HTTPClient()
        let (gone, stays) = (
            try await register(client, onePort), try await register(client, twoPort)
        )
        #expect(try await status(client, ingestPort, gone) == 200)

        // No verifier runs, so the erasure goes on later; the revocation stands.
        let answer = try await client.send(
            .delete,
            "http://127.0.0.1:\(onePort)/api/v1/rider/me",
            headers: [("Authorization", "Bearer \(gone)")]
        )
        #expect(answer.status == 202)
        // The one that revoked knows it with its answer, the others within a look.
        #expect(try await status(client, onePort, gone) == 401)
        for port in [twoPort, ingestPort] {
            try await eventually("the revocation is known") {
                try await status(client, port, gone) == 401
            }
        }
        for port in [onePort, twoPort, ingestPort] {
            #expect(try await status(client, port, stays) != 401)
        }
        for service in [one, two, ingest] { await service.stop() }
        client.close()
    }

    @Test func `services hear revocations, look accounts up and are asked to forget`()
        async throws
    {
        let fleet = try await TestFleet()
        let heard = Mutex<[Messages.Revocations.Entry]>([])
        let asked = Mutex<[UniqueID]>([])
        let isClean = Mutex(false)
        let buses = Mutex<[Bus]>([])
        let groups = ServiceDefinition(
            name: ServiceNames.groups,
            summary: "Stands in for a service that stores something about accounts.",
            publicPort: 0,
            internalPort: 0,
            usesBus: true
        ) { context in
            context.bus.subscribe(topic: BusTopics.revocations, of: ServiceNames.auth) {
                guard let message = try? Messages.Revocations(decoding: $0.body) else { return }
                heard.withLock { $0 += message.entries }
            }
            context.bus.serve { request in
                guard let erase = try? EraseAccount(decoding: request.body) else { return [] }
                asked.withLock { $0.append(erase.accountID) }
                let answer = EraseAccountAnswer(
                    trace: erase.trace,
                    isClean: isClean.withLock { $0 }
                )
                return answer.encoded()
            }
            buses.withLock { $0.append(context.bus) }
            return ServiceParts()
        }
        let (auth, authPort) = try await RunningService.start(
            Auth.definition,
            in: fleet,
            replacesHandlers: false
        )
        let (listener, _) = try await RunningService.start(groups, in: fleet)
        let (asker, _) = try await RunningService.start(groups, in: fleet)
        let bus = try #require(buses.withLock { $0.last })
        try await eventually("auth is known") { !bus.instances(of: ServiceNames.auth).isEmpty }
        try await eventually("groups is known") { !bus.instances(of: ServiceNames.groups).isEmpty }

        let client = HTTPClient()
        let signedUp = try await client.send(
            .post,
            "http://127.0.0.1:\(authPort)/api/v1/auth/register",
            headers: [("Content-Type", "application/json")],
            body: Array(#"{"handle":"Ada","password":"correct horse battery"}"#.utf8)
        )
        struct SignedUp: Decodable {
            let accountId: String
            let token: String
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let ada = try decoder.decode(SignedUp.self, from: Data(signedUp.body))
        let id = try #require(UniqueID(ada.accountId))
        let question = AccountQuery(body: .handle("ada"))
        let instance = try #require(bus.instances(of: ServiceNames.auth).first)
        let answer = try AccountAnswer(
            decoding: try await bus.request(
                question.encoded(),
                to: instance,
                timeout: .seconds(5)
            )
        )
        #expect(answer.trace == question.trace)
        #expect(answer.body == .accounts([.init(id: id, handle: "Ada", name: "")]))

        // A log-out everywhere is heard as the subject's revocation.
        let loggedOut = try await client.send(
            .post,
            "http://127.0.0.1:\(authPort)/api/v1/auth/logout-all",
            headers: [("Authorization", "Bearer \(ada.token)")]
        )
        #expect(loggedOut.status == 204)
        let digest = SubjectDigest.text(of: ada.accountId)
        try await eventually("the revocation is heard") {
            heard.withLock { $0 }.contains { $0.target == .subject(digest) }
        }

        // An owner of data that joins the registry is asked until it is clean.
        let owner = ErasureOwner.service(ServiceNames.groups, bus)
        let erasure = try await marked(id, in: fleet.database)
        #expect(await owner.erase(erasure) == .notYet)
        isClean.withLock { $0 = true }
        #expect(await owner.erase(erasure) == .clean)
        #expect(asked.withLock { $0 } == [id, id])
        for service in [asker, listener, auth] { await service.stop() }
        client.close()
    }

    // MARK: - Details

    private func register(_ client: HTTPClient, _ port: Int) async throws -> String {
        struct Registration: Decodable { let token: String }
        let body = #"{"installation_id":"\#(UUID().uuidString)","platform":"other"}"#
        let answer = try await client.send(
            .post,
            "http://127.0.0.1:\(port)/api/v1/rider/register",
            headers: [("Content-Type", "application/json")],
            body: Array(body.utf8)
        )
        return try JSONDecoder().decode(Registration.self, from: Data(answer.body)).token
    }

    /// The status of a call for riders; 503 from auth, as no verifier runs, 200 from ingest.
    private func status(_ client: HTTPClient, _ port: Int, _ token: String) async throws -> Int {
        let headers = [("Authorization", "Bearer \(token)")]
        let url = "http://127.0.0.1:\(port)/api/v1/rider/"
        let answer = try await client.get(url + "trips/T/status", headers: headers)
        if answer.status != 404 { return answer.status }
        return try await client.get(url + "me/export", headers: headers).status
    }

    private func marked(_ id: UniqueID, in database: TestDatabase) async throws -> Erasure {
        let pool = database.open(connections: 1, role: Auth.schema.role)
        let erasures = Erasures(
            database: pool,
            revocations: Revocations(),
            owners: [],
            deletions: [:],
            logger: .silent
        )
        let erasure = try await pool.transaction { connection throws(DatabaseError) in
            try erasures.begin(.account, subject: id, tokensUntil: 200, at: 100, on: connection)
        }
        await pool.close()
        return erasure
    }
}
