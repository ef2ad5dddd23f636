internal import Transit
internal import Web

/// What the other services store about an account, for `GET /api/me/export`.
struct AccountExports: Sendable {
    /// Everybody who stores something about accounts, apart from auth itself.
    let owners: [ErasureOwner]

    /// Asks every owner.
    ///
    /// - Parameter account: Whose.
    /// - Returns: By owner, one JSON value each, in the order of the registry.
    /// - Throws: 503 when an owner is away: an export has all that is stored or is none.
    func of(_ account: UniqueID) async throws(HTTPError) -> [(owner: String, json: [UInt8])] {
        var exports: [(owner: String, json: [UInt8])] = []
        for owner in owners {
            guard let export = owner.export else { continue }
            guard let json = await export(account) else { throw .exportUnavailable }
            exports.append((owner.name, json))
        }
        return exports
    }
}

extension HTTPError {
    /// 503 while an owner of data does not answer.
    fileprivate static let exportUnavailable = HTTPError(
        status: 503,
        code: "export.unavailable",
        message: "not all that is stored can be read now, try again",
        retryAfter: 2
    )
}
