internal import ServiceKit

/// `alongside keys derive`: what each service needs to verify tokens without `JWT_SECRET`.
enum KeysCommand {
    /// Derives the keys of every service that admits tokens and signs none.
    ///
    /// The output is lines of an environment file under a comment for each service. It is as secret
    /// as what it holds: who has a family's key can make tokens of that family.
    ///
    /// - Parameter settings: The settings of `up`.
    /// - Returns: Lines without the last line feed.
    /// - Throws: ``OperationError`` without `JWT_SECRET`.
    static func derive(_ settings: Settings) throws(OperationError) -> String {
        guard let secret = settings[UpSettings.jwtSecret] else {
            throw OperationError("JWT_SECRET is missing: set it, or JWT_SECRET_FILE")
        }
        let keys = ServiceKeys(settings, secret: secret)
        var lines: [String] = []
        for service in Fleet.definitions {
            let own = keys.settings(of: service)
            if !own.isEmpty { lines.append("# \(service.name)") }
            lines += own.map { "\($0.key)=\($0.value.revealed())" }
        }
        return lines.joined(separator: "\n")
    }
}
