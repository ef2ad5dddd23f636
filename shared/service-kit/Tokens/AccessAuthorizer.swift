internal import Web

/// Sends holders of API keys to the service's own authorizer and everyone else to the tokens'.
struct AccessAuthorizer: Authorizer {
    let tokens: any Authorizer
    let apiKeys: any Authorizer

    func authorize(_ request: HTTPRequest, access: Access) throws(HTTPError) -> Principal? {
        switch access {
        case .apiKey: try apiKeys.authorize(request, access: access)
        case .anyone, .roles: try tokens.authorize(request, access: access)
        }
    }
}
