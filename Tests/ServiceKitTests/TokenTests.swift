import ServiceKit
import Telemetry
import TestKit
import Testing
import Web

private let secret = Secret("0123456789abcdef0123456789abcdef")
private let clock = ManualClock()

private func ring(
    _ families: Set<KeyFamily> = [.rider, .member, .staff],
    generation: Int = 1,
    raw: Bool = false
) -> KeyRing {
    KeyRing(secret: secret, families: families, generation: generation, acceptsRaw: raw)
}

private func claims(_ role: Role = .rider, lifetime: Duration = .seconds(60)) -> TokenClaims {
    TokenClaims(
        subject: "11111111-1111-4111-8111-111111111111",
        role: role,
        issuedAt: clock.now,
        lifetime: lifetime
    )
}

private func fault(_ token: String, _ verifier: TokenVerifier) -> TokenFault? {
    do {
        _ = try verifier.claims(of: token)
        return nil
    } catch {
        return error
    }
}

@Suite struct KeyRingTests {
    // Worked out with Python's hmac and hashlib.
    @Test(arguments: [
        (KeyID(.rider, generation: 1), "TM-QYgAjMK_iOelb77i14bVn9IlKyrtFKPH57YaqOGg"),
        (KeyID(.staff, generation: 2), "_d8hiLqFdz99ocbCTxsbpTyzoDyuRpVv1xJZlccja3w"),
    ])
    func `derives the keys that another implementation derives`(id: KeyID, key: String) {
        #expect(KeyRing.derive(id, secret: secret).revealed() == key)
    }

    @Test(arguments: ["rider.1", "member.20", "staff.99999"])
    func `reads the names of keys`(text: String) {
        #expect(KeyID(text)?.description == text)
    }

    @Test(arguments: [
        "", "rider", "rider.", "rider.0", "rider.01", "rider.+1", "rider.100000", "Rider.1",
        "rider.1.1", "driver.1", " rider.1",
    ])
    func `refuses other names`(text: String) {
        #expect(KeyID(text) == nil)
    }

    @Test func `a ring of derived keys verifies what the secret's ring signs`() throws {
        let text = KeyRing.settingText(of: .rider, secret: secret, generation: 2)
        let keys = try #require(KeyRing.parse(text, family: .rider))
        #expect(keys.keys.map(\.generation).sorted() == [1, 2, 3])
        let verifier = TokenVerifier(ring: KeyRing(keys: keys), clock: clock.application)
        for generation in 1...3 {
            let token = TokenSigner(ring(generation: generation)).sign(claims())
            #expect(fault(token, verifier) == nil)
        }
        #expect(fault(TokenSigner(ring(generation: 4)).sign(claims()), verifier) == .unknownKey)
    }

    @Test(arguments: ["", "1", "1:", "1:AAAA", ":AAAA", "x:AAAA", "1:!", "1:A,"])
    func `refuses a setting that holds no keys`(text: String) {
        #expect(KeyRing.parse(Secret(text), family: .rider) == nil)
    }
}

@Suite struct TokenVerifierTests {
    private let verifier = TokenVerifier(ring: ring(), clock: clock.application)

    @Test(arguments: Role.allCases)
    func `reads back what it signed`(role: Role) throws {
        var signed = claims(role)
        signed.handle = "mia \"the\" rider"
        signed.email = "mia@example.org"
        signed.installation = InstallationFacts(
            addressBlock: .max,
            installedAt: clock.now,
            build: 1 << 63
        )
        #expect(try verifier.claims(of: TokenSigner(ring()).sign(signed)) == signed)
    }

    @Test func `a token is valid to the second before its expiry`() {
        let token = TokenSigner(ring()).sign(claims(lifetime: .seconds(60)))
        let late = ManualClock(clock.now + 59)
        let verifier = TokenVerifier(ring: ring(), clock: late.application)
        #expect(fault(token, verifier) == nil)
        late.advance(by: 1)
        #expect(fault(token, verifier) == .expired)
    }

    @Test(arguments: [1, 2, 3])
    func `accepts the generations around its own`(generation: Int) {
        let verifier = TokenVerifier(ring: ring(generation: 2), clock: clock.application)
        let token = TokenSigner(ring(generation: generation)).sign(claims())
        #expect(fault(token, verifier) == nil)
    }

    @Test func `refuses a generation that rotation has retired`() {
        let verifier = TokenVerifier(ring: ring(generation: 3), clock: clock.application)
        #expect(fault(TokenSigner(ring()).sign(claims()), verifier) == .unknownKey)
    }

    @Test func `names a family it does not hold without checking the signature`() {
        let verifier = TokenVerifier(ring: ring([.staff]), clock: clock.application)
        #expect(fault(TokenSigner(ring()).sign(claims(.rider)), verifier) == .otherFamily)
    }

    @Test func `every changed character is noticed`() {
        let token = TokenSigner(ring()).sign(claims())
        for index in token.indices where token[index] != "." {
            var changed = token
            let other: Character = token[index] == "A" ? "B" : "A"
            changed.replaceSubrange(index...index, with: [other])
            #expect(fault(changed, verifier) != nil, "position \(index)")
        }
    }

    @Test func `asks the revocations and counts refusals by reason`() {
        let metrics = Metrics()
        for (status, expected) in [
            (RevocationStatus.valid, TokenFault?.none), (.revoked, .revoked),
            (.unknown, .revocationsUnknown),
        ] {
            let verifier = TokenVerifier(
                ring: ring(),
                clock: clock.application,
                metrics: metrics,
                revocation: { _ in status }
            )
            #expect(fault(TokenSigner(ring()).sign(claims()), verifier) == expected)
        }
        #expect(metrics.rendered().contains("tokens_refused_total{reason=\"revoked\"} 1\n"))
    }
}

/// Tokens made by hand, as an attacker or another maker would.
@Suite struct ForgedTokenTests {
    private let verifier = TokenVerifier(ring: ring(raw: true), clock: clock.application)

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var header = "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"rider.1\"}"
        var payload = Case.payload()
        let fault: TokenFault?

        static func payload(_ changes: String = "", without: String = "") -> String {
            let fields = [
                ("iss", "\"vehicle-positions-api\""), ("sub", "\"x\""), ("role", "\"rider\""),
                ("exp", "1771257660"),
            ]
            let kept = fields.filter { $0.0 != without }.map { "\"\($0.0)\":\($0.1)" }
            return "{" + (kept + (changes.isEmpty ? [] : [changes])).joined(separator: ",") + "}"
        }

        static let all = [
            Case(testDescription: "a token of another maker", fault: nil),
            Case(
                testDescription: "alg none",
                header: "{\"alg\":\"none\",\"kid\":\"rider.1\"}",
                fault: .algorithm
            ),
            Case(
                testDescription: "alg RS256",
                header: "{\"alg\":\"RS256\",\"kid\":\"rider.1\"}",
                fault: .algorithm
            ),
            Case(
                testDescription: "alg in lower case",
                header: "{\"alg\":\"hs256\",\"kid\":\"rider.1\"}",
                fault: .algorithm
            ),
            Case(testDescription: "no alg", header: "{\"kid\":\"rider.1\"}", fault: .algorithm),
            Case(
                testDescription: "an extension it must understand",
                header: "{\"alg\":\"HS256\",\"kid\":\"rider.1\",\"crit\":[\"b64\"]}",
                fault: .algorithm
            ),
            Case(
                testDescription: "an unknown family",
                header: "{\"alg\":\"HS256\",\"kid\":\"driver.1\"}",
                fault: .unknownKey
            ),
            Case(testDescription: "a header that is no object", header: "[]", fault: .malformed),
            Case(testDescription: "claims that are no object", payload: "1", fault: .malformed),
            Case(
                testDescription: "no expiry",
                payload: Case.payload(without: "exp"),
                fault: .withoutExpiry
            ),
            Case(
                testDescription: "an endless expiry",
                payload: Case.payload("\"exp\":1e300", without: "exp"),
                fault: .withoutExpiry
            ),
            Case(
                testDescription: "an expiry that is a text",
                payload: Case.payload("\"exp\":\"1771257660\"", without: "exp"),
                fault: .malformed
            ),
            Case(
                testDescription: "expired",
                payload: Case.payload("\"exp\":1771257600", without: "exp"),
                fault: .expired
            ),
            Case(
                testDescription: "an expiry with a fraction",
                payload: Case.payload("\"exp\":1771257600.5", without: "exp"),
                fault: nil
            ),
            Case(
                testDescription: "another issuer",
                payload: Case.payload("\"iss\":\"other\"", without: "iss"),
                fault: .issuer
            ),
            Case(
                testDescription: "no issuer",
                payload: Case.payload(without: "iss"),
                fault: .issuer
            ),
            Case(
                testDescription: "not yet valid",
                payload: Case.payload("\"nbf\":1771257601"),
                fault: .notYetValid
            ),
            Case(
                testDescription: "valid from now",
                payload: Case.payload("\"nbf\":1771257600"),
                fault: nil
            ),
            Case(
                testDescription: "an empty subject",
                payload: Case.payload("\"sub\":\"\"", without: "sub"),
                fault: .subject
            ),
            Case(
                testDescription: "a numeric subject",
                payload: Case.payload("\"sub\":7", without: "sub"),
                fault: .malformed
            ),
            Case(
                testDescription: "a role of another family",
                payload: Case.payload("\"role\":\"admin\"", without: "role"),
                fault: .role
            ),
            Case(
                testDescription: "an unknown role",
                payload: Case.payload("\"role\":\"root\"", without: "role"),
                fault: .role
            ),
        ]
    }

    @Test(arguments: Case.all)
    func `judges a token signed with the right key`(example: Case) {
        let token = TestTokens.signed(
            header: example.header,
            payload: example.payload,
            key: KeyID(.rider, generation: 1),
            secret: secret
        )
        #expect(fault(token, verifier) == example.fault)
    }

    @Test(arguments: [
        "", ".", "..", "a.b", "a.b.c.d", "a.b.c", "eyJhbGciOiJub25lIn0.e30.",
        String(repeating: "a", count: 4097),
    ])
    func `refuses what is not a token`(text: String) {
        let fault = fault(text, verifier)
        #expect(fault == .malformed || fault == .algorithm || fault == .tooLong)
    }

    @Test func `takes a raw token only where that is allowed`() {
        let token = TestTokens.raw(payload: Case.payload(), secret: secret)
        #expect(fault(token, verifier) == nil)
        let strict = TokenVerifier(ring: ring(), clock: clock.application)
        #expect(fault(token, strict) == .unknownKey)
        let staff = TokenVerifier(ring: ring([.staff], raw: true), clock: clock.application)
        #expect(fault(token, staff) == .otherFamily)
    }

    @Test func `a raw token cannot borrow a family's name`() {
        let token = TestTokens.raw(
            header: "{\"alg\":\"HS256\",\"kid\":\"rider.1\"}",
            payload: Case.payload(),
            secret: secret
        )
        #expect(fault(token, verifier) == .signature)
    }
}
