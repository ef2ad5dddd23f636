import TestKit
import Testing
import Transit
import Web

/// What a registration's body may not be.
@Suite(.timeLimit(.minutes(3))) struct RegistrationBodyTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: String
        let error: String

        init(_ description: String, _ body: String, _ error: String) {
            testDescription = description
            self.body = body
            self.error = error
        }

        private static let id = "7d1d0000-0000-4000-8000-000000000001"
        private static let uuid = "installation_id must be a UUID"
        private static let platform = "platform must be one of ios, android, other"
        private static let tooLong = "app_id and app_version must be at most 100 characters"
        private static let long = String(repeating: "é", count: 101)

        static let all = [
            Case("an empty object", "{}", uuid),
            Case("an id that is none", #"{"installation_id":"7d1d","platform":"ios"}"#, uuid),
            Case("an id that is null", #"{"installation_id":null,"platform":"ios"}"#, uuid),
            Case("braces", "{\"installation_id\":\"{\(id)}\",\"platform\":\"ios\"}", uuid),
            Case(
                "a numeric id",
                #"{"installation_id":7,"platform":"ios"}"#,
                #"field "installation_id" has invalid type"#
            ),
            Case("no platform", "{\"installation_id\":\"\(id)\"}", platform),
            Case("another platform", installation(platform: "web"), platform),
            Case("upper case", installation(platform: "iOS"), platform),
            Case("a long app id", installation(appID: long), tooLong),
            Case("a long version", installation(appVersion: long), tooLong),
            Case(
                "an attestation",
                installation(more: #","attestation":"x""#),
                "attestation not supported"
            ),
            Case(
                "an empty attestation",
                installation(more: #","attestation":{}"#),
                "attestation not supported"
            ),
            Case(
                "an attestation that says no",
                installation(more: #","attestation":false"#),
                "attestation not supported"
            ),
            Case(
                "an unknown field",
                installation(more: #","attested":true"#),
                #"invalid JSON: unknown field "attested""#
            ),
        ]
    }

    @Test(arguments: Case.all)
    func `refuses it with its own sentence`(example: Case) async throws {
        try await withAuth { auth async throws in
            let answer = try await auth.register(example.body)
            #expect(answer.status == 400)
            let refusal = try answer.decoded(AuthProcess.Refusal.self)
            #expect(refusal.error == example.error)
            #expect(!refusal.code.isEmpty)
        }
    }

    @Test(arguments: [
        "", "[]", "{", "null", "{} {}", #"{"platform":"ios","platform":"ios"}"#,
        installation(appVersion: #"\u0000"#),
    ])
    func `refuses what is not one JSON object`(body: String) async throws {
        try await withAuth { auth async throws in
            let answer = try await auth.register(body)
            #expect(answer.status == 400)
            let refusal = try answer.decoded(AuthProcess.Refusal.self)
            #expect(refusal.error.hasPrefix("invalid JSON: "))
        }
    }

    @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
    func `refuses another media type`(type: String) async throws {
        try await withAuth { auth async throws in
            let answer = try await auth.register(contentType: type)
            #expect(answer.status == 415)
            let refusal = try answer.decoded(AuthProcess.Refusal.self)
            #expect(refusal.error == "Content-Type must be application/json")
        }
    }

    @Test(arguments: ["application/json; charset=utf-8", "Application/JSON"])
    func `takes JSON however it is written`(type: String) async throws {
        try await withAuth { auth async throws in
            let answer = try await auth.register(contentType: type)
            #expect(answer.status == 201)
            #expect(answer.headers.values("Cache-Control") == ["no-store"])
        }
    }

    @Test func `takes up to 64 KiB and texts of 100 characters`() async throws {
        try await withAuth { auth async throws in
            let text = String(repeating: "é", count: 100)
            let body = installation(appID: text, appVersion: text, more: #","attestation":null"#)
            let room = 64 * 1024 - body.utf8.count
            let padded = body + String(repeating: " ", count: room)
            #expect(try await auth.register(padded).status == 201)
            let answer = try await auth.register(padded + " ")
            #expect(answer.status == 413)
            #expect(try answer.decoded(AuthProcess.Refusal.self).error == "request body too large")
        }
    }
}
