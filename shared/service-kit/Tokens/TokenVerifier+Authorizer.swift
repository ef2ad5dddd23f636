public import Web

extension TokenVerifier: Authorizer {
    /// Admits or refuses a request by its `Authorization` header, or where only staff may call and
    /// there is no such header, by the cookie of a browser session.
    ///
    /// - Parameters:
    ///   - request: The head of the request.
    ///   - access: What the endpoint demands.
    /// - Returns: The caller.
    /// - Throws: 401 without a valid token, 403 for a valid one of another role and for one of a
    ///   family that this process does not hold, 503 while revocations cannot be looked up.
    public func authorize(_ request: HTTPRequest, access: Access) throws(HTTPError) -> Principal? {
        switch access {
        case .anyone: return nil
        // Keys have no place in a token; the service that has them brings its own authorizer.
        case .apiKey: throw HTTPError.unauthorized
        case .roles(let roles):
            let claims = try claims(in: request, for: roles)
            guard roles.contains(claims.role) else {
                throw roles == [.admin] && claims.role == .driver
                    ? HTTPError.adminRequired : HTTPError.forbidden
            }
            return Principal(
                subject: claims.subject,
                role: claims.role,
                tokenID: claims.tokenID,
                issuedAt: claims.issuedAt,
                handle: claims.handle,
                email: claims.email,
                installation: claims.installation
            )
        }
    }

    private func claims(
        in request: HTTPRequest,
        for roles: Set<Role>
    ) throws(HTTPError) -> TokenClaims {
        let token = try token(in: request, for: roles)
        do throws(TokenFault) {
            return try claims(of: token)
        } catch {
            switch error {
            case .otherFamily: throw HTTPError.forbidden
            case .revocationsUnknown: throw HTTPError.revocationsUnavailable
            default: throw HTTPError.invalidToken
            }
        }
    }

    /// The token that a request carries.
    ///
    /// A header of the wrong form is an error, never a reason to look at the cookie.
    private func token(
        in request: HTTPRequest,
        for roles: Set<Role>
    ) throws(HTTPError) -> String {
        guard !request.headers.contains("Authorization"), SessionCookie.counts(for: roles) else {
            guard let token = bearerToken(in: request.headers) else { throw .missingAuthorization }
            return token
        }
        guard let token = SessionCookie.token(in: request.headers) else {
            throw .missingAuthorization
        }
        // A browser sends the cookie for whatever page asks.
        guard !request.isRefusedAsCrossOrigin else { throw HTTPError.crossOrigin }
        return token
    }
}

/// The token of exactly one `Authorization: Bearer <token>` line (RFC 6750).
private func bearerToken(in headers: HTTPHeaders) -> String? {
    let lines = headers.values("Authorization")
    guard lines.count == 1, let line = lines.first else { return nil }
    let scheme = line.utf8.prefix { $0 != 0x20 }
    let token = line.utf8.dropFirst(scheme.count + 1)
    guard !token.isEmpty, !token.contains(0x20), Substring(scheme).lowercased() == "bearer" else {
        return nil
    }
    return String(Substring(token))
}

extension HTTPError {
    /// 401 without exactly one well-formed `Authorization` header.
    public static let missingAuthorization = HTTPError(
        status: 401,
        code: "auth.missing_authorization",
        message: "missing or invalid authorization header"
    )

    /// 401 for a token that is not valid, whatever the reason.
    public static let invalidToken = HTTPError(
        status: 401,
        code: "auth.invalid_token",
        message: "invalid token",
        challenge: .anotherBearer
    )

    /// 401 where no claims stand behind a request that needs some.
    public static let unauthorized = HTTPError(
        status: 401,
        code: "auth.unauthorized",
        message: "unauthorized"
    )

    /// 403 for a caller of another role.
    public static let forbidden = HTTPError(
        status: 403,
        code: "auth.forbidden",
        message: "forbidden"
    )

    /// 403 for a driver where only admins may.
    public static let adminRequired = HTTPError(
        status: 403,
        code: "auth.admin_required",
        message: "admin access required"
    )

    /// 503 while nobody can say whether a token has been revoked: it fails closed.
    public static let revocationsUnavailable = HTTPError(
        status: 503,
        code: "auth.revocations_unavailable",
        message: "revocations cannot be checked now, try again",
        retryAfter: 2
    )
}
