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

/// The cookie of a browser session (spec 1.2).
@Suite struct SessionCookieTests {
    private let tokens = TestTokens(clock: clock.application)

    private func refusal(
        _ headers: [(String, String)],
        _ roles: Set<Role>,
        method: HTTPMethod = .get
    ) -> HTTPError? {
        do {
            let request = HTTPRequest(method: method, headers: HTTPHeaders(headers))
            _ = try tokens.verifier().authorize(request, access: .roles(roles))
            return nil
        } catch {
            return error
        }
    }

    private func cookie(_ role: Role = .admin) -> (String, String) {
        ("Cookie", "theme=dark; vp_session=\(tokens.token(role)); vp_flash=x")
    }

    @Test(arguments: [[Role.admin], [.driver, .admin], [.driver]])
    func `counts where only staff may call`(roles: [Role]) {
        let role = roles[0]
        #expect(refusal([cookie(role)], Set(roles)) == nil)
    }

    @Test(arguments: [
        [Role.rider], [.member], [.rider, .admin], [.member, .driver, .admin],
    ])
    func `does not count where others may call too`(roles: [Role]) {
        #expect(refusal([cookie(roles[0])], Set(roles)) == .missingAuthorization)
    }

    @Test func `of another role is refused like a token of that role`() {
        #expect(refusal([cookie(.driver)], [.admin]) == .adminRequired)
        #expect(refusal([cookie(.rider)], [.admin]) == .forbidden)
        #expect(refusal([cookie(.member)], [.driver]) == .forbidden)
    }

    @Test(arguments: ["", "Basic abc", "Bearer ", "Bearer a b"])
    func `is no fallback for a header of the wrong form`(line: String) {
        #expect(refusal([("Authorization", line), cookie()], [.admin]) == .missingAuthorization)
    }

    @Test func `is no fallback for a bad token`() {
        let header = ("Authorization", "Bearer \(tokens.token(.admin, lifetime: .zero))")
        #expect(refusal([header, cookie()], [.admin]) == .invalidToken)
        let wrongRole = ("Authorization", "Bearer \(tokens.token(.driver))")
        #expect(refusal([wrongRole, cookie()], [.admin]) == .adminRequired)
    }

    @Test(arguments: [
        "vp_session=", "vp_session", "Vp_session=TOKEN", "xvp_session=TOKEN",
        "vp_session=TOKEN; vp_session=TOKEN", "a=vp_session=TOKEN",
    ])
    func `of another form is missing`(line: String) {
        let line = line.replacing("TOKEN", with: tokens.token(.admin))
        #expect(refusal([("Cookie", line)], [.admin]) == .missingAuthorization)
    }

    @Test func `twice in two lines is missing`() {
        #expect(refusal([cookie(), cookie()], [.admin]) == .missingAuthorization)
    }

    @Test func `that is wrong is an invalid token`() {
        #expect(refusal([("Cookie", "vp_session=a.b.c")], [.admin]) == .invalidToken)
    }

    @Test(arguments: [
        ([("Sec-Fetch-Site", "same-origin")], true), ([("Sec-Fetch-Site", "none")], true),
        ([("Sec-Fetch-Site", "cross-site")], false), ([("Sec-Fetch-Site", "same-site")], false),
        ([("Origin", "https://bus.example"), ("Host", "bus.example")], true),
        ([("Origin", "https://evil.example"), ("Host", "bus.example")], false),
        ([("Origin", "null"), ("Host", "bus.example")], false), ([], true),
    ])
    func `with an unsafe method counts for our own pages alone`(
        headers: [(String, String)],
        isAdmitted: Bool
    ) {
        for method in [HTTPMethod.post, .put, .delete] {
            let refusal = refusal(headers + [cookie()], [.admin], method: method)
            #expect(refusal == (isAdmitted ? nil : .crossOrigin))
        }
        #expect(refusal(headers + [cookie()], [.admin]) == nil)
    }
}
