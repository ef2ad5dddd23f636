internal import ServiceKit

/// What one service verifies tokens with: the keys of the families that its endpoints admit, and
/// nothing that signs others (architecture section 8).
struct ServiceKeys {
    /// The fleet's secret, `JWT_SECRET`.
    let secret: Secret
    /// The current key generation.
    let generation: Int
    /// Whether tokens count that are signed with the secret itself (`JWT_ACCEPT_RAW`).
    let acceptsRaw: Bool

    /// Reads the settings of `up`; the secret may be one of the data folder's.
    init(_ settings: Settings, secret: Secret) {
        self.secret = secret
        generation = settings[UpSettings.jwtGeneration]
        acceptsRaw = settings[UpSettings.jwtAcceptsRaw]
    }

    /// The settings of a service that signs no tokens, in the families' order; empty when it admits
    /// none.
    func settings(of service: ServiceDefinition) -> [(key: String, value: Secret)] {
        guard !service.signsTokens else { return [] }
        return KeyFamily.allCases.filter(service.keyFamilies.contains).map { family in
            (
                "JWT_KEY_\(family.rawValue.uppercased())",
                KeyRing.settingText(of: family, secret: secret, generation: generation)
            )
        }
    }

    /// Takes the fleet's secret out of the environment of a service that can do without.
    ///
    /// - Parameters:
    ///   - environment: What all services get.
    ///   - service: The service to be started.
    /// - Returns: Its environment. Who signs tokens keeps the secret; where raw tokens count, all do.
    func environment(
        _ environment: [String: String],
        for service: ServiceDefinition
    ) -> [String: String] {
        guard !service.signsTokens, !acceptsRaw else {
            return environment
        }
        var own = environment
        own["JWT_SECRET"] = nil
        own["JWT_SECRET_FILE"] = nil
        for (key, value) in settings(of: service) { own[key] = value.revealed() }
        return own
    }
}
