// Stand-in module: Security
// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// On Apple systems `as CFDictionary`, `as String` and `as? Data` bridge; Linux has no bridging, so
// the Core Foundation types are the Swift types that they bridge to.

/// iOS 2.0, <https://developer.apple.com/documentation/corefoundation/cfdictionary>.
public typealias CFDictionary = [AnyHashable: Any]
/// iOS 2.0, <https://developer.apple.com/documentation/corefoundation/cfstring>.
public typealias CFString = String
/// iOS 2.0, <https://developer.apple.com/documentation/corefoundation/cftyperef>.
public typealias CFTypeRef = AnyObject
/// iOS 2.0, <https://developer.apple.com/documentation/kernel/osstatus>.
public typealias OSStatus = Int32

/// iOS 2.0, <https://developer.apple.com/documentation/security/secitemadd(_:_:)>.
public func SecItemAdd(
    _ attributes: CFDictionary,
    _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus { fatalError() }

/// iOS 2.0, <https://developer.apple.com/documentation/security/secitemcopymatching(_:_:)>.
public func SecItemCopyMatching(
    _ query: CFDictionary,
    _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus { fatalError() }

/// iOS 2.0, <https://developer.apple.com/documentation/security/secitemupdate(_:_:)>.
public func SecItemUpdate(
    _ query: CFDictionary,
    _ attributesToUpdate: CFDictionary
) -> OSStatus { fatalError() }

/// iOS 2.0, <https://developer.apple.com/documentation/security/secitemdelete(_:)>.
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { fatalError() }

/// iOS 2.0, <https://developer.apple.com/documentation/security/errsecsuccess>.
public var errSecSuccess: OSStatus { fatalError() }
/// iOS 2.0, <https://developer.apple.com/documentation/security/errsecitemnotfound>.
public var errSecItemNotFound: OSStatus { fatalError() }

/// iOS 2.0, <https://developer.apple.com/documentation/security/ksecclass>.
public var kSecClass: CFString { fatalError() }
/// iOS 2.0, <https://developer.apple.com/documentation/security/ksecclassgenericpassword>.
public var kSecClassGenericPassword: CFString { fatalError() }
/// iOS 2.0, <https://developer.apple.com/documentation/security/ksecattrservice>.
public var kSecAttrService: CFString { fatalError() }
/// iOS 2.0, <https://developer.apple.com/documentation/security/ksecattraccount>.
public var kSecAttrAccount: CFString { fatalError() }
/// iOS 4.0, <https://developer.apple.com/documentation/security/ksecattraccessible>.
public var kSecAttrAccessible: CFString { fatalError() }
/// iOS 4.0, <https://developer.apple.com/documentation/security/ksecattraccessibleafterfirstunlockthisdeviceonly>.
public var kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString { fatalError() }
/// iOS 2.0, <https://developer.apple.com/documentation/security/ksecvaluedata>.
public var kSecValueData: CFString { fatalError() }
/// iOS 2.0, <https://developer.apple.com/documentation/security/ksecreturndata>.
public var kSecReturnData: CFString { fatalError() }
/// iOS 2.0, <https://developer.apple.com/documentation/security/ksecmatchlimit>.
public var kSecMatchLimit: CFString { fatalError() }
/// iOS 2.0, <https://developer.apple.com/documentation/security/ksecmatchlimitone>.
public var kSecMatchLimitOne: CFString { fatalError() }
