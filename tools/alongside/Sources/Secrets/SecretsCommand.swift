internal import Bus
internal import ServiceKit

/// `alongside secrets FOLDER`: everything secret of a deployment, made where it is missing.
///
/// Running it again changes nothing, but for the keys that are derived from `JWT_SECRET`: they follow
/// `JWT_KEY_GENERATION`. A file that was removed is made anew, and what is derived from it with it; the
/// database stays where the owner's address says.
struct SecretsCommand {
    static let usage = "secrets takes FOLDER [--database HOST[:PORT]]"
    /// Where services find PostgreSQL when nothing is said: its name in the compose file.
    static let defaultHost = "postgres"
    /// The database, and its owner.
    static let database = "alongside"

    private let folder: SecretsFolder
    /// What an earlier run has written; others follow it.
    private let owner: OwnerURL?
    private let host: String
    private let generation: Int

    /// Reads what follows `secrets`.
    ///
    /// - Throws: ``OperationError`` saying what is missing or unknown.
    init(arguments: [String], _ settings: Settings) throws(OperationError) {
        let line: CommandLineArguments
        do {
            line = try CommandLineArguments(
                arguments,
                options: [CommandLineOption("database", takesValue: true)]
            )
        } catch {
            throw OperationError("\(error); \(Self.usage)")
        }
        guard line.positional.count == 1, let path = line.positional.first else {
            throw OperationError(Self.usage)
        }
        folder = SecretsFolder(path: path)
        owner = OwnerURL(of: folder)
        host = line.value(of: "database") ?? owner?.host ?? Self.defaultHost
        generation = settings[UpSettings.jwtGeneration]
    }

    /// Makes what is missing.
    ///
    /// - Parameter say: Prints where the files are; never what they hold.
    /// - Throws: ``OperationError`` when a file cannot be written.
    func run(say: (String) -> Void) throws(OperationError) {
        let password = try folder.value(SecretsFolder.postgres, "password") {
            owner?.password ?? SecretsFolder.random()
        }
        try keep(url(Self.database, password), SecretsFolder.operations)
        let secret = try folder.value(Fleet.signer, SecretsFolder.jwtSecret) {
            SecretsFolder.random()
        }
        let busKey = try folder.value(SecretsFolder.operations, SecretsFolder.busSecretKey) {
            () throws(OperationError) in try Self.busKey()
        }
        for service in Fleet.definitions {
            try keep(url(service.loginRole, SecretsFolder.random()), service.name)
            try folder.write(busKey, service.name, SecretsFolder.busSecretKey)
            guard !service.signsTokens else { continue }
            for family in service.keyFamilies {
                let keys = KeyRing.settingText(
                    of: family,
                    secret: Secret(secret),
                    generation: generation
                )
                try folder.write(keys.revealed(), service.name, SecretsFolder.keys(of: family))
            }
        }
        for part in [Fleet.signer, SecretsFolder.grafana] {
            _ = try folder.value(part, SecretsFolder.adminPassword) { SecretsFolder.random() }
        }
        say("\(folder.path) holds a folder for each part of the deployment")
    }

    private func keep(_ url: String, _ part: String) throws(OperationError) {
        _ = try folder.value(part, SecretsFolder.databaseURL) { url }
    }

    private func url(_ role: String, _ password: String) -> String {
        "postgresql://\(role):\(password)@\(host)/\(Self.database)"
    }

    private static func busKey() throws(OperationError) -> String {
        do {
            return try CurveKeys.generate().secretKey
        } catch {
            throw OperationError("\(error)")
        }
    }
}

/// The database's address as its owner, as ``SecretsCommand`` writes it.
private struct OwnerURL {
    let password: String
    let host: String

    /// Reads it; nil when there is none, or one of another form.
    init?(of folder: SecretsFolder) {
        guard let url = folder.value(SecretsFolder.operations, SecretsFolder.databaseURL),
            let match = url.wholeMatch(of: #/postgresql://[^:@/]+:([^:@/]+)@([^@/]+)/[^/]*/#)
        else { return nil }
        password = String(match.1)
        host = String(match.2)
    }
}

extension ServiceDefinition {
    /// The role that the service logs in as: the owner of its schema, where it has one.
    var loginRole: String {
        schema?.role ?? "alongside_" + name.map { $0 == "-" ? "_" : String($0) }.joined()
    }
}
