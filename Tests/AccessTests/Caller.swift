import ServiceKit
import TestKit
import Transit
import Web

/// Somebody who calls an endpoint, with what they show.
struct Caller: Sendable {
    /// What is wrong with a token, or nothing.
    enum Token: String, CaseIterable {
        case valid
        case inCookie = "in a cookie"
        case besideABadHeader = "in a cookie beside a bad header"
        case expired
        case withoutExpiry = "without expiry"
        case ofAnotherIssuer = "of another issuer"
        case unsigned = "with algorithm none"
        case rs256 = "with algorithm RS256"
        case hs512 = "with algorithm HS512"
        case withAnotherFamilysKey = "with the key of another family"
        case withAnUnknownKey = "with an unknown key"
        case withoutKeyID = "without a key's name"
        case ofAnotherFleet = "of another fleet"
        case revoked
        case ofARevokedSubject = "of a revoked subject"
    }

    /// The `jti` and the subject that the test revokes.
    static let revokedID = "0123456789abcdef0123456789abcdef"
    static let revokedSubject = "22222222-2222-4222-8222-222222222222"

    /// nil shows nothing at all.
    let role: Role?
    let token: Token

    /// Everybody who knocks.
    static var all: [Caller] {
        [Caller(role: nil, token: .valid)]
            + Role.allCases.flatMap { role in
                Token.allCases.map { Caller(role: role, token: $0) }
            }
    }

    var description: String { role.map { "\($0.rawValue), \(token.rawValue)" } ?? "no token" }

    // MARK: - What they send

    func headers(at now: UnixSeconds) -> [(String, String)] {
        guard let role else { return [] }
        let text = compact(role, at: now)
        switch token {
        case .inCookie: return [("Cookie", "vp_session=\(text)")]
        case .besideABadHeader:
            return [("Authorization", "Basic abc"), ("Cookie", "vp_session=\(text)")]
        default: return [("Authorization", "Bearer \(text)")]
        }
    }

    private func compact(_ role: Role, at now: UnixSeconds) -> String {
        let key = keyID(role)
        let header =
            switch token {
            case .unsigned: #"{"alg":"none","kid":"\#(key)"}"#
            case .rs256: #"{"alg":"RS256","kid":"\#(key)"}"#
            case .hs512: #"{"alg":"HS512","kid":"\#(key)"}"#
            case .withoutKeyID: #"{"alg":"HS256"}"#
            default: #"{"alg":"HS256","typ":"JWT","kid":"\#(key)"}"#
            }
        let issuer = token == .ofAnotherIssuer ? "somebody-else" : TokenClaims.issuer
        let subject =
            token == .ofARevokedSubject ? Self.revokedSubject : UniqueID.random().description
        let id = token == .revoked ? Self.revokedID : TokenClaims.randomTokenID()
        let expiry = token == .expired ? now - 1 : now + 600
        let end = token == .withoutExpiry ? "" : #","exp":\#(expiry)"#
        // Before the subject was revoked, however long the walk has taken until here.
        let issuedAt = token == .ofARevokedSubject ? now - 600 : now - 10
        let payload = #"""
            {"iss":"\#(issuer)","sub":"\#(subject)","role":"\#(role.rawValue)","iat":\#(issuedAt)\#
            \#(end),"jti":"\#(id)"}
            """#
        if token == .withoutKeyID { return TestTokens.raw(header: header, payload: payload) }
        let other = Secret("another-secret-of-thirty-two-byte")
        return TestTokens.signed(
            header: header,
            payload: payload,
            key: key,
            secret: token == .ofAnotherFleet ? other : TestTokens.secret
        )
    }

    /// The key that the token names and is signed with.
    private func keyID(_ role: Role) -> KeyID {
        switch token {
        case .withAnotherFamilysKey: KeyID(Self.other(KeyFamily(of: role)), generation: 1)
        case .withAnUnknownKey: KeyID(KeyFamily(of: role), generation: 9)
        default: KeyID(KeyFamily(of: role), generation: 1)
        }
    }

    private static func other(_ family: KeyFamily) -> KeyFamily {
        family == .staff ? .member : .staff
    }

    // MARK: - What they hear

    /// An answer of the authorizer, or nil for being admitted.
    struct Refusal: Equatable, CustomStringConvertible {
        let status: Int
        let code: String
        /// `WWW-Authenticate`, which every 401 has (RFC 9110, section 15.5.2).
        let challenge: String?

        var description: String { "\(status) \(code) \(challenge ?? "")" }

        private static let bearer = #"Bearer realm="alongside""#
        static let missing = Refusal(
            status: 401,
            code: "auth.missing_authorization",
            challenge: bearer
        )
        static let invalid = Refusal(
            status: 401,
            code: "auth.invalid_token",
            challenge: bearer + #", error="invalid_token""#
        )
        static let unauthorized = Refusal(
            status: 401,
            code: "auth.unauthorized",
            challenge: bearer
        )
        static let forbidden = Refusal(status: 403, code: "auth.forbidden", challenge: nil)
        static let adminRequired = Refusal(
            status: 403,
            code: "auth.admin_required",
            challenge: nil
        )
    }

    /// What an endpoint's declaration promises this caller.
    ///
    /// - Parameters:
    ///   - access: Who may call.
    ///   - held: The families of keys that the service holds.
    /// - Returns: nil when the caller is admitted.
    func refusal(at access: Access, holding held: Set<KeyFamily>) -> Refusal? {
        guard case .roles(let roles) = access else {
            return access == .anyone ? nil : .unauthorized
        }
        guard let role else { return .missing }
        let isForStaff = roles.isSubset(of: [.driver, .admin])
        switch token {
        case .besideABadHeader: return .missing
        case .inCookie where !isForStaff: return .missing
        case .valid, .inCookie:
            guard held.contains(KeyFamily(of: role)) else { return .forbidden }
            if roles.contains(role) { return nil }
            return roles == [.admin] && role == .driver ? .adminRequired : .forbidden
        // The algorithm is looked at before the key's name.
        case .unsigned, .rs256, .hs512, .withoutKeyID: return .invalid
        default:
            // A family that is not held is "not yours" (403), whatever else is wrong.
            return held.contains(keyID(role).family) ? .invalid : .forbidden
        }
    }
}
