internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// What the calls about accounts work with.
struct AccountContext: Sendable {
    /// Bytes of a body (spec 0).
    static let bodyLimit = 16 * 1024

    let database: RequestDatabase
    let passwords: PasswordWorker
    let sessions: Sessions
    let erasures: Erasures
    let exports: AccountExports
    let signer: TokenSigner
    let keys: KeyRing
    let limits: AttemptLimits
    let now: @Sendable () -> UnixSeconds
    let logger: Logger

    /// Who has an account.
    static let roles: Set<Role> = [.member, .driver, .admin]
    static let everyAccount = Access.roles(roles)

    /// The account that a token speaks for; only for endpoints that demand one.
    ///
    /// - Throws: 401 when the subject is not the id of an account.
    func caller(_ request: HTTPRequest) throws(HTTPError) -> Caller {
        guard let principal = request.principal else { throw HTTPError.unauthorized }
        guard let id = UniqueID(principal.subject) else { throw HTTPError.invalidToken }
        return Caller(account: id, tokenID: principal.tokenID)
    }

    /// Whose token it is, and which.
    struct Caller: Sendable {
        let account: UniqueID
        let tokenID: String?
    }
}

extension HTTPError {
    /// 429 for log-ins, refreshes and confirmations by password (spec 1.2).
    static func tooManyAttempts(_ seconds: Int) -> HTTPError {
        HTTPError(
            status: 429,
            code: "rate.attempts",
            message: "too many attempts",
            retryAfter: seconds
        )
    }

    /// 403 for a wrong password where the caller is known already.
    static let wrongPassword = HTTPError(
        status: 403,
        code: "password.wrong",
        message: "the current password is wrong"
    )
}
