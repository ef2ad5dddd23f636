import Database
import Foundation
import ServiceKit
import TestKit
import Testing
import Transit

@testable import Web

/// Every endpoint of every service, called by everybody (architecture, section 8).
@Suite(.timeLimit(.minutes(3))) struct AccessWalkTests {
    @Test func `every endpoint answers every caller as it declares`() async throws {
        let fleet = try await TestFleet()
        try await revoke(in: fleet.database)
        let client = HTTPClient()
        var count = 0
        try await fleet.eachService { service, endpoints, port in
            for endpoint in endpoints {
                for caller in Caller.all {
                    let refusal = try await knock(client, caller, endpoint, port)
                    let expected = caller.refusal(
                        at: endpoint.access,
                        holding: service.keyFamilies
                    )
                    #expect(
                        refusal == expected,
                        """
                        \(service.name): \(endpoint.method.rawValue) \
                        \(endpoint.pattern) for \(caller.description)
                        """
                    )
                    count += 1
                }
            }
        }
        client.close()
        // A walk past nothing proves nothing.
        #expect(count > 1000)
    }

    private func knock(
        _ client: HTTPClient,
        _ caller: Caller,
        _ endpoint: Endpoint,
        _ port: Int
    ) async throws -> Caller.Refusal? {
        struct Body: Decodable { let code: String }
        let answer = try await client.send(
            endpoint.method,
            "http://127.0.0.1:\(port)\(endpoint.examplePath)",
            headers: caller.headers(at: Int64(Date().timeIntervalSince1970))
        )
        if answer.status == 200 {
            #expect(String(decoding: answer.body, as: UTF8.self) == RunningService.admitted)
            return nil
        }
        let body = try JSONDecoder().decode(Body.self, from: Data(answer.body))
        return Caller.Refusal(
            status: answer.status,
            code: body.code,
            challenge: answer.headers.first("WWW-Authenticate")
        )
    }

    /// Revokes before the services start, so that their first look finds it; the subject ahead of time,
    /// as the tokens of a long walk are dated later and later.
    private func revoke(in database: TestDatabase) async throws {
        let pool = database.open(connections: 1)
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO auth.revocations (kind, value, revoked_at, until)
                VALUES ('token', $1, now(), now() + interval '1 hour'),
                    ('subject', $2, now() + interval '10 minutes', now() + interval '1 hour')
                """,
                [
                    .text(Caller.revokedID),
                    .text(SubjectDigest.text(of: Caller.revokedSubject)),
                ]
            )
        }
        await pool.close()
    }
}
