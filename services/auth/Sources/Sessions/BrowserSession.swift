internal import ServiceKit
internal import Web

/// `POST` and `DELETE /api/v1/auth/session`: how staff log in to pages in a browser (spec 1.2).
///
/// The cookie holds the same kind of token as an app's header, readable by no script. Other sites
/// cannot use it: the server refuses unsafe requests that a browser sends for them.
struct BrowserSession: Sendable {
    private static let path = "/api/v1/auth/session"
    private static let roles: Set<Role> = [.driver, .admin]

    let context: AccountContext

    var endpoints: [Endpoint] {
        [
            Endpoint(
                .post,
                Self.path,
                access: .anyone,
                bodyLimit: AccountContext.bodyLimit,
                handler: open
            ),
            Endpoint(
                .delete,
                Self.path,
                access: .roles(Self.roles),
                bodyLimit: AccountContext.bodyLimit,
                handler: end
            ),
        ]
    }

    private func open(_ request: HTTPRequest) async throws -> HTTPResponse {
        let tokens = try await LogIn(context: context).open(.browser, for: Self.roles, request)
        let token = context.signer.sign(tokens.claims)
        return answer(request, token, seconds: SessionLifetimes.browser.components.seconds)
    }

    private func end(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await LogOut(context: context).endSession(request)
        return answer(request, "", seconds: 0)
    }

    private func answer(_ request: HTTPRequest, _ value: String, seconds: Int64) -> HTTPResponse {
        var cookie = "\(SessionCookie.name)=\(value); Path=/; Max-Age=\(seconds); HttpOnly"
        cookie += "; SameSite=Lax"
        if request.isSecure { cookie += "; Secure" }
        return HTTPResponse(
            status: 204,
            headers: [("Set-Cookie", cookie), ("Cache-Control", "no-store")]
        )
    }
}
