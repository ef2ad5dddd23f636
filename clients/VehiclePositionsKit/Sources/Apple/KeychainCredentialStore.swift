#if canImport(Security)
internal import Foundation
internal import Security
internal import Synchronization

/// Keeps the installation's credentials in the Keychain of this device.
///
/// They are in no backup and on no other device, and readable once the phone was unlocked after a
/// restart: a ride goes on in a locked phone. The system may keep them when the app is removed;
/// ``clear()`` on an app's first launch makes that a new installation.
public final class KeychainCredentialStore: CredentialStore {
    private static let service = "org.onebusaway.vehiclepositionskit"
    private static let account = "rider"

    /// What was saved last: a Keychain that refuses to write would make a rider of each call.
    private let latest = Mutex<RiderCredentials?>(nil)

    /// Makes the store; all stores of an app are one.
    public init() {}

    /// The stored credentials, nil when there are none.
    public func load() -> RiderCredentials? {
        latest.withLock { latest in
            if latest == nil { latest = Self.read() }
            return latest
        }
    }

    /// Stores credentials in place of what was there.
    public func save(_ credentials: RiderCredentials) {
        latest.withLock { latest in
            latest = credentials
            Self.write(credentials)
        }
    }

    /// Forgets the installation.
    public func clear() {
        latest.withLock { latest in
            latest = nil
            _ = SecItemDelete(Self.item() as CFDictionary)
        }
    }

    private static func read() -> RiderCredentials? {
        var query = item()
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var found: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess,
            let data = found as? Data
        else {
            return nil
        }
        return try? JSONDecoder().decode(RiderCredentials.self, from: data)
    }

    private static func write(_ credentials: RiderCredentials) {
        guard let data = try? JSONEncoder().encode(credentials) else { return }
        let values: [String: Any] = [
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        let updated = SecItemUpdate(item() as CFDictionary, values as CFDictionary)
        guard updated == errSecItemNotFound else { return }
        let added = item().merging(values) { _, new in new }
        _ = SecItemAdd(added as CFDictionary, nil)
    }

    private static func item() -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
        ]
    }
}
#endif
