#if canImport(Security)
public import Foundation
internal import Security

/// Keeps data in the keychain of this phone alone, for the session's tokens.
///
/// It is readable after the first unlock, so that a background tick can call the server, and goes
/// into no backup that another phone could restore.
public final class KeychainStore: CompanionStore {
    private let service: String

    /// Makes a store.
    ///
    /// - Parameter service: Keeps apart what several stores hold, such as the app's bundle id.
    public init(service: String) {
        self.service = service
    }

    /// What was stored under a key.
    public func data(for key: String) -> Data? {
        var query = item(key)
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var found: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess else {
            return nil
        }
        return found as? Data
    }

    /// Stores data in place of what was there; nil forgets it.
    public func set(_ data: Data?, for key: String) {
        guard let data else {
            _ = SecItemDelete(item(key) as CFDictionary)
            return
        }
        let change: [String: Any] = [kSecValueData as String: data]
        let status = SecItemUpdate(item(key) as CFDictionary, change as CFDictionary)
        guard status == errSecItemNotFound else { return }
        var new = item(key)
        new[kSecValueData as String] = data
        new[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        _ = SecItemAdd(new as CFDictionary, nil)
    }

    private func item(_ key: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: key,
        ]
    }
}
#endif
