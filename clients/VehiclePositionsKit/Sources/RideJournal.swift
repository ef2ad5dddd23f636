public import Foundation

/// Keeps a running ride over the end of the app's process, for ``RideReporter/resume()``.
///
/// What is kept are positions of a person: a store of your own protects them as well as
/// ``FileRideJournal`` does, and is no part of a backup.
public protocol RideJournal: Sendable {
    /// What was saved last, nil when there is nothing.
    func load() -> Data?
    /// Keeps a ride in place of what was there; called every few seconds while one runs.
    func save(_ ride: Data)
    /// Forgets the ride.
    func clear()
}

/// Keeps the running ride in one file of the app's own.
///
/// The system encrypts it until the phone is unlocked for the first time after a restart; elsewhere
/// only its user may read it.
public struct FileRideJournal: RideJournal {
    /// More was never written; a file that is larger is not ours.
    static let sizeLimitBytes = 1 << 20

    private let folder: URL
    private let file: URL

    /// Makes a journal in a folder.
    ///
    /// - Parameter folder: Nil is the folder of caches, which no backup contains.
    public init(folder: URL? = nil) {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        self.folder = folder ?? caches ?? FileManager.default.temporaryDirectory
        file = self.folder.appending(path: "org.onebusaway.vehiclepositionskit.ride.json")
    }

    /// What was saved last, nil when there is nothing.
    public func load() -> Data? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        guard let size = attributes?[.size] as? NSNumber, size.intValue <= Self.sizeLimitBytes
        else {
            return nil
        }
        return try? Data(contentsOf: file)
    }

    /// Keeps a ride in place of what was there; a full disk costs the resuming, not the ride.
    public func save(_ ride: Data) {
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Until the first unlock and no longer: a ride goes on in a locked phone.
        try? ride.write(
            to: file,
            options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication]
        )
        try? FileManager.default.setAttributes(
            [.posixPermissions: 0o600],
            ofItemAtPath: file.path
        )
    }

    /// Forgets the ride.
    public func clear() {
        try? FileManager.default.removeItem(at: file)
    }
}
