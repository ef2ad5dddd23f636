internal import FoundationEssentials
internal import Synchronization
internal import VehiclePositionsKit

/// Keeps the simulated installations in one file, so that a restart registers nobody anew.
final class InstallationFile: Sendable {
    private let path: String?
    private let riders: Mutex<[String: RiderCredentials]>

    /// Why riders cannot be kept in a file.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Opens the file, making it when it is missing; nil keeps nothing.
    ///
    /// - Throws: ``Failure`` when the file is not ours or cannot be written.
    init(path: String?) throws(Failure) {
        self.path = path
        var known: [String: RiderCredentials] = [:]
        if let path {
            if FileManager.default.fileExists(atPath: path) {
                known = try Self.read(path)
            } else {
                do { try Self.write(known, to: path) } catch {
                    throw Failure(description: "the riders cannot be kept in \(path): \(error)")
                }
            }
        }
        riders = Mutex(known)
    }

    private static func read(_ path: String) throws(Failure) -> [String: RiderCredentials] {
        do {
            let data = try Data(contentsOf: URL(filePath: path))
            return try JSONDecoder().decode([String: RiderCredentials].self, from: data)
        } catch {
            throw Failure(
                description: "\(path) cannot be read as a file of riders; remove it to register "
                    + "them anew"
            )
        }
    }

    private static func write(_ riders: [String: RiderCredentials], to path: String) throws {
        try JSONEncoder().encode(riders).write(to: URL(filePath: path), options: .atomic)
        try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    /// The store of one rider.
    func store(for rider: String) -> any CredentialStore {
        Store(file: self, rider: rider)
    }

    private func save(_ credentials: RiderCredentials?, for rider: String) {
        riders.withLock { riders in
            riders[rider] = credentials
            // Losing the file costs a registration, not a ride.
            if let path { try? Self.write(riders, to: path) }
        }
    }

    private struct Store: CredentialStore {
        let file: InstallationFile
        let rider: String

        func load() -> RiderCredentials? { file.riders.withLock { $0[rider] } }
        func save(_ credentials: RiderCredentials) { file.save(credentials, for: rider) }
        func clear() { file.save(nil, for: rider) }
    }
}
