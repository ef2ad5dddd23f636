public import Foundation
internal import Synchronization

/// Keeps small pieces of data between launches.
public protocol CompanionStore: Sendable {
    /// What was stored under a key, nil when there is nothing.
    func data(for key: String) -> Data?
    /// Stores data in place of what was there; nil forgets it.
    ///
    /// What cannot be stored is lost: the kit goes on without.
    func set(_ data: Data?, for key: String)
}

extension CompanionStore {
    /// What was stored under a key, nil when it is missing or cannot be read.
    func value<Value: Decodable>(_ type: Value.Type, for key: String) -> Value? {
        data(for: key).flatMap { try? JSONDecoder().decode(type, from: $0) }
    }

    /// Stores a value.
    func setValue(_ value: some Encodable, for key: String) {
        set(try? JSONEncoder().encode(value), for: key)
    }
}

/// Keeps data for as long as the process lives.
public final class InMemoryCompanionStore: CompanionStore {
    private let stored = Mutex<[String: Data]>([:])

    /// Makes an empty store.
    public init() {}

    /// What was stored under a key.
    public func data(for key: String) -> Data? {
        stored.withLock { $0[key] }
    }

    /// Stores data in place of what was there.
    public func set(_ data: Data?, for key: String) {
        stored.withLock { $0[key] = data }
    }
}

/// Keeps each key in a file of one folder, whole or not at all.
///
/// On iOS the files are readable only after the first unlock, so that a background tick works and
/// a phone that was just switched on gives nothing away.
public final class FileCompanionStore: CompanionStore {
    private let folder: URL
    private let access = Mutex(())

    /// Makes a store, and its folder when it is missing.
    ///
    /// - Parameter folder: A folder of the app's own; nobody else may enter it from now on.
    /// - Throws: When the folder cannot be made.
    public init(folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        // A folder that was there already may be open to others.
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700],
            ofItemAtPath: folder.path
        )
    }

    /// What was stored under a key.
    public func data(for key: String) -> Data? {
        access.withLock { _ in try? Data(contentsOf: file(key)) }
    }

    /// Stores data in place of what was there.
    public func set(_ data: Data?, for key: String) {
        access.withLock { _ in
            if let data {
                try? data.write(to: file(key), options: Self.options)
            } else {
                try? FileManager.default.removeItem(at: file(key))
            }
        }
    }

    private static let options: Data.WritingOptions = [
        .atomic, .completeFileProtectionUntilFirstUserAuthentication,
    ]

    private func file(_ key: String) -> URL {
        folder.appendingPathComponent(key + ".json", isDirectory: false)
    }
}
