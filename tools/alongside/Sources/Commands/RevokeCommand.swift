internal import AuthService
internal import Database
internal import ServiceKit
internal import Transit

/// `alongside revoke`: makes tokens void by hand, such as those of a phone that was lost.
enum RevokeCommand {
    /// Writes the revocation; every service knows it within a second.
    ///
    /// - Parameters:
    ///   - kind: `token`, `rider` or `installation`.
    ///   - id: A token's `jti`, or the id of the rider or installation.
    ///   - environment: Names the database (``OperatorDatabase``).
    /// - Returns: A sentence about what was done.
    /// - Throws: ``OperationError`` saying what to do.
    static func run(
        _ kind: String,
        _ id: String,
        _ environment: [String: String]
    ) throws(OperationError) -> String {
        let target = try target(kind, id)
        let url = try OperatorDatabase(environment).url
        let client = "alongside-revoke"
        let result = BlockingWait.run(on: url, as: Auth.schema, called: client) { database in
            let now = try await FleetClock.clock(in: database).now()
            return try await Auth.revoke(target, at: now, in: database)
        }
        switch result {
        case .success(.revoked): return done
        case .success(.revokedUnseen):
            return "\(done); no account has such a token, so check the id if it is not a rider's"
        case .success(.nobody): throw OperationError("there is no such \(kind)")
        case .failure(let error): throw OperationError("nothing was revoked: \(error)")
        }
    }

    private static let done = "revoked: every service refuses it within a second"

    private static func target(
        _ kind: String,
        _ id: String
    ) throws(OperationError) -> RevocationTarget {
        if kind == "token" {
            guard id.utf8.count == 32, id.allSatisfy(\.isHexDigit) else {
                throw OperationError(
                    "\(id) is no token's id: give its `jti`, which is 32 hexadecimal digits"
                )
            }
            return .token(id)
        }
        guard let uuid = UniqueID(id) else { throw OperationError("\(id) is not a UUID") }
        switch kind {
        case "rider": return .rider(uuid)
        case "installation": return .installation(uuid)
        default: throw OperationError("revoke takes token, rider or installation and an id")
        }
    }
}
