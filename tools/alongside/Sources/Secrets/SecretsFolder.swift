internal import Bus
internal import FoundationEssentials
internal import ServiceKit

/// The files that hold what each part of a deployment must know and the others must not.
///
/// Each part has a folder of its own, so that a container or a unit is given that folder alone. A file holds one
/// value, the name says which setting (`database-url` for `<SERVICE>_DATABASE_URL`).
struct SecretsFolder: Sendable {
    /// Who uses the owner of the database and makes the others' files.
    static let operations = "operations"
    static let postgres = "postgres"
    static let grafana = "grafana"

    static let databaseURL = "database-url"
    static let jwtSecret = "jwt-secret"
    static let busSecretKey = "bus-secret-key"
    static let adminPassword = "admin-password"

    /// The name of the file that holds a family's keys.
    static func keys(of family: KeyFamily) -> String { "jwt-key-\(family.rawValue)" }

    let path: String

    init(path: String) { self.path = DataFolder.absolute(path) }

    func file(_ part: String, _ name: String) -> String { "\(path)/\(part)/\(name)" }

    /// What a file holds; nil when it is not there.
    func value(_ part: String, _ name: String) -> String? {
        DataFolder.text(of: file(part, name)).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Writes a file that its part can read whatever user it runs as; the folder around all parts is closed.
    func write(_ value: String, _ part: String, _ name: String) throws(OperationError) {
        try DataFolder.makeFolder(path, mode: 0o700)
        try DataFolder.makeFolder("\(path)/\(part)", mode: 0o755)
        try DataFolder.write(value + "\n", to: file(part, name), mode: 0o444)
    }

    /// What a file holds, made and written when it is missing.
    func value(
        _ part: String,
        _ name: String,
        otherwise make: () throws(OperationError) -> String
    ) throws(OperationError) -> String {
        if let value = value(part, name) { return value }
        let value = try make()
        try write(value, part, name)
        return value
    }

    /// 256 random bits as hexadecimal digits.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        .joined()
    }
}
