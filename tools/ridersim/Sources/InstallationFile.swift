internal import FoundationEssentials
internal import Synchronization
internal import VehiclePositionsKit

/// Keeps the simulated installations in one file, so that a restart registers nobody anew.
final class InstallationFile: Sendable {
    private let path: String?
    private let riders: Mutex<[String: RiderCredentials]>

    /// Opens the file; a missing one is made on the first save, nil keeps nothing.
    ///
    /// - Throws: When the file exists but is not ours.
    init(path: String?) throws {
        self.path = path
        var known: [String: RiderCredentials] = [:]
        if let path, FileManager.default.fileExists(atPath: path) {
            let data = try Data(contentsOf: URL(filePath: path))
            known = try JSONDecoder().decode([String: RiderCredentials].self, from: data)
        }
        riders = Mutex(known)
    }

    /// The store of one rider.
    func store(for rider: String) -> any CredentialStore {
        Store(file: self, rider: rider)
    }

    private func save(_ credentials: RiderCredentials?, for rider: String) {
        riders.withLock { riders in
            riders[rider] = credentials
            guard let path, let data = try? JSONEncoder().encode(riders) else { return }
            // Losing the file costs a registration, not a ride.
            try? data.write(to: URL(filePath: path), options: .atomic)
            try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
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
