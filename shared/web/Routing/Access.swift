/// What kind of account a token speaks for.
public enum Role: String, Sendable, Hashable, CaseIterable {
    /// A pseudonymous installation that reports positions.
    case rider
    /// A person in circles and convoys.
    case member
    /// A driver of the agency.
    case driver
    /// An administrator.
    case admin
}

/// Who may call an endpoint.
public enum Access: Sendable, Hashable {
    /// Everyone, without a token.
    case anyone
    /// Accounts with one of these roles.
    case roles(Set<Role>)
    /// Holders of an API key.
    case apiKey
}

/// The caller that an authorizer found.
public struct Principal: Sendable, Hashable {
    /// The id of the account, the rider or the API key.
    public let subject: String
    /// What the caller may be.
    public let role: Role
    /// The id of the token, where it has one; revocation goes by it.
    public let tokenID: String?
    /// When the token was signed, POSIX seconds, where it says so.
    public let issuedAt: Int64?
    /// The member's handle, where the token carries one.
    public let handle: String?
    /// The account's e-mail address, where the token carries one.
    public let email: String?
    /// The rider's installation, where the token says something about it.
    public let installation: InstallationFacts?

    /// Makes a principal.
    public init(
        subject: String,
        role: Role,
        tokenID: String? = nil,
        issuedAt: Int64? = nil,
        handle: String? = nil,
        email: String? = nil,
        installation: InstallationFacts? = nil
    ) {
        self.subject = subject
        self.role = role
        self.tokenID = tokenID
        self.issuedAt = issuedAt
        self.handle = handle
        self.email = email
        self.installation = installation
    }
}

/// What a rider's token says about the installation of the app, to tell one witness from another.
public struct InstallationFacts: Sendable, Hashable {
    /// A keyed hash of the block of addresses that the app registered from; nil where that says nothing.
    public let addressBlock: UInt64?
    /// When the app registered first, in POSIX seconds.
    public let installedAt: Int64
    /// A hash of platform, app and version.
    public let build: UInt64

    /// Makes the facts.
    public init(addressBlock: UInt64?, installedAt: Int64, build: UInt64) {
        self.addressBlock = addressBlock
        self.installedAt = installedAt
        self.build = build
    }
}

/// Decides who is calling; asked after the head of a request and before its body is read.
public protocol Authorizer: Sendable {
    /// Admits or refuses a request.
    ///
    /// Called on the server's loop thread, so it must not wait. The request has no body yet.
    ///
    /// - Parameters:
    ///   - request: The head of the request.
    ///   - access: What the endpoint demands; never `.anyone`.
    /// - Returns: The caller.
    /// - Throws: The answer for a caller who may not.
    func authorize(_ request: HTTPRequest, access: Access) throws(HTTPError) -> Principal?
}

/// An authorizer for servers whose endpoints are all open; refuses every other endpoint.
public struct NoAuthorizer: Authorizer {
    /// Makes the authorizer.
    public init() {}

    /// Refuses: this server knows no callers.
    public func authorize(_ request: HTTPRequest, access: Access) throws(HTTPError) -> Principal? {
        throw HTTPError(status: 403, code: "access.forbidden", message: "forbidden")
    }
}
