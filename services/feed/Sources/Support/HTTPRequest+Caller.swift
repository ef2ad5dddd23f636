internal import ServiceKit
internal import Transit
internal import Web

extension Access {
    /// Drivers and admins.
    static let staff = Access.roles([.driver, .admin])
    /// Admins alone.
    static let admins = Access.roles([.admin])
}

extension HTTPRequest {
    /// The account that calls.
    ///
    /// - Throws: 401 for a token whose subject is no account's id (spec 1.5).
    var accountID: UniqueID {
        get throws(HTTPError) {
            guard let principal else { throw .unauthorized }
            guard let id = UniqueID(principal.subject) else {
                throw HTTPError(
                    status: 401,
                    code: "auth.invalid_subject",
                    message: "invalid token: invalid subject",
                    challenge: .anotherBearer
                )
            }
            return id
        }
    }
}
