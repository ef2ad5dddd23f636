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
        let generation = settings[UpSettings.jwtGeneration]
        var lines: [String] = []
        for service in Fleet.definitions
        where !service.signsTokens && !service.keyFamilies.isEmpty {
            lines.append("# \(service.name)")
            for family in KeyFamily.allCases where service.keyFamilies.contains(family) {
                let keys = KeyRing.settingText(
                    of: family,
                    secret: secret,
                    generation: generation
                )
                lines.append("JWT_KEY_\(family.rawValue.uppercased())=\(keys.revealed())")
            }
        }
        return lines.joined(separator: "\n")
    }
}
