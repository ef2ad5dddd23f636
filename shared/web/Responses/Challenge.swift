/// By which means a caller who was refused with 401 could be let in: the answer's `WWW-Authenticate`
/// (RFC 9110, section 11.6.1).
///
/// Browsers ask people for a password by none of these schemes, so no page of ours opens their window.
public enum Challenge: Sendable, Equatable, CaseIterable {
    /// By a bearer token; none was shown, or in no form that is read (RFC 6750, section 3).
    case bearer
    /// By another bearer token than the one that was shown (RFC 6750, section 3.1).
    case anotherBearer
    /// By a key in `X-API-Key`; the scheme is not registered, the parameters are OpenAPI's words.
    case apiKey

    /// The header's value.
    var text: String {
        switch self {
        case .bearer: #"Bearer realm="alongside""#
        case .anotherBearer: #"Bearer realm="alongside", error="invalid_token""#
        case .apiKey: #"ApiKey realm="alongside", in="header", name="X-API-Key""#
        }
    }
}
