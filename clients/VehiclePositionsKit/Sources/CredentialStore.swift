public import Foundation
internal import Synchronization

/// What an installation remembers about itself; nothing in it names a person.
public struct RiderCredentials: Sendable, Codable, Equatable {
    /// A random id made once per installation.
    public var installationID: UUID
    /// The server's id for the installation, nil before the first registration.
    public var riderID: String?
    /// The bearer token, nil when the rider must register (again).
    public var token: String?

    /// Makes credentials.
    public init(installationID: UUID, riderID: String? = nil, token: String? = nil) {
        self.installationID = installationID
        self.riderID = riderID
        self.token = token
    }
}

extension RiderCredentials: CustomStringConvertible, CustomReflectable {
    /// The installation; a token has no place in a log.
    public var description: String {
        "RiderCredentials(installationID: \(installationID), riderID: \(riderID ?? "nil"), "
            + "token: \(token == nil ? "nil" : "hidden"))"
    }

    /// Nothing that ``description`` does not say.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Keeps the installation's credentials between launches.
public protocol CredentialStore: Sendable {
    /// The stored credentials, nil when there are none.
    func load() -> RiderCredentials?
    /// Stores credentials in place of what was there.
    func save(_ credentials: RiderCredentials)
    /// Forgets the installation.
    func clear()
}

/// Keeps credentials for as long as the process lives.
public final class InMemoryCredentialStore: CredentialStore {
    private let stored: Mutex<RiderCredentials?>

    /// Makes a store, with credentials to start from or without.
    public init(_ credentials: RiderCredentials? = nil) {
        stored = Mutex(credentials)
    }

    /// The stored credentials, nil when there are none.
    public func load() -> RiderCredentials? {
        stored.withLock { $0 }
    }

    /// Stores credentials in place of what was there.
    public func save(_ credentials: RiderCredentials) {
        stored.withLock { $0 = credentials }
    }

    /// Forgets the installation.
    public func clear() {
        stored.withLock { $0 = nil }
    }
}
