import ServiceKit
import TestKit
import Testing
import Transit
import Web

private let clock = ManualClock()

/// What a caller hears, by header, role and the families that the process holds (spec 1.2).
@Suite struct AuthorizerTests {
    private let tokens = TestTokens(clock: clock.application)

    private func refusal(
        _ headers: [(String, String)],
        _ access: Access,
        holding families: Set<KeyFamily> = Set(KeyFamily.allCases)
    ) -> HTTPError? {
        do {
            let request = HTTPRequest(headers: HTTPHeaders(headers))
            _ = try tokens.verifier(families).authorize(request, access: access)
            return nil
        } catch {
            return error
        }
    }

    private func bearer(_ token: String) -> [(String, String)] {
        [("Authorization", "Bearer \(token)")]
    }

    @Test(arguments: Role.allCases, Role.allCases)
    func `admits exactly the role that the endpoint names`(caller: Role, named: Role) {
        let refusal = refusal(bearer(tokens.token(caller)), .roles([named]))
        guard caller != named else {
            #expect(refusal == nil)
            return
        }
        let isDriverAtAdmins = caller == .driver && named == .admin
        #expect(refusal == (isDriverAtAdmins ? .adminRequired : .forbidden))
        #expect(refusal?.status == 403)
    }

    @Test func `hands the claims to the handler`() throws {
        let subject = UniqueID.random()
        let token = tokens.token(.member, subject: subject)
        let request = HTTPRequest(headers: HTTPHeaders(bearer(token)))
        let principal = try tokens.verifier().authorize(request, access: .roles([.member]))
        #expect(principal?.subject == subject.description)
        #expect(principal?.role == .member)
        #expect(principal?.tokenID?.count == 32)
    }

    @Test func `a family that is not held is 403, whoever signed`() {
        let token = tokens.token(.member)
        #expect(refusal(bearer(token), .roles([.rider]), holding: [.rider]) == .forbidden)
        let forged = TestTokens.signed(
            header: #"{"alg":"HS256","kid":"member.1"}"#,
            payload: "{}",
            key: KeyID(.rider, generation: 1)
        )
        #expect(refusal(bearer(forged), .roles([.rider]), holding: [.rider]) == .forbidden)
    }

    @Test func `an expired token and another fleet's are 401`() {
        let expired = tokens.token(.rider, lifetime: .zero)
        #expect(refusal(bearer(expired), .roles([.rider])) == .invalidToken)
        let other = TestTokens(
            clock: clock.application,
            secret: Secret("another-secret-of-thirty-two-byte")
        )
        #expect(refusal(bearer(other.token(.rider)), .roles([.rider])) == .invalidToken)
    }

    @Test(arguments: ["", "Bearer", "Bearer ", "Basic abc", "Bearer  a.b.c", "Bearer a b", "a.b.c"])
    func `a header of another form is missing`(line: String) {
        #expect(refusal([("Authorization", line)], .roles([.rider])) == .missingAuthorization)
    }

    @Test func `two headers are as bad as none, and the scheme's case does not matter`() {
        let token = tokens.token(.rider)
        #expect(refusal([], .roles([.rider])) == .missingAuthorization)
        let twice = bearer(token) + bearer(token)
        #expect(refusal(twice, .roles([.rider])) == .missingAuthorization)
        #expect(refusal([("authorization", "bEARER \(token)")], .roles([.rider])) == nil)
    }

    @Test func `asks nothing of endpoints for anyone and has no keys`() {
        #expect(refusal([("Authorization", "nonsense")], .anyone) == nil)
        #expect(refusal(bearer(tokens.token(.admin)), .apiKey) == .unauthorized)
    }
}
