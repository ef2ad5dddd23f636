internal import Web

/// What a new password may be: 8 to 1,024 bytes of UTF-8 (spec 0), without U+0000.
///
/// The bytes are taken as they come: a keyboard that writes an accent as a character of its own
/// makes another password.
enum PasswordRules {
    /// Its length in bytes of UTF-8.
    static let byteRange = 8...1024

    /// What is wrong with a new password.
    enum Fault: Error, Equatable {
        case missing
        case tooShort
        case tooLong
        case containsNul

        /// The sentence for people; spec 1.3 gives the first two.
        var message: String {
            switch self {
            case .missing: "password is required"
            case .tooShort: "password must be at least \(byteRange.lowerBound) characters"
            case .tooLong: "password must be at most \(byteRange.upperBound) bytes"
            case .containsNul: "password must not contain U+0000"
            }
        }

        var code: String {
            switch self {
            case .missing: "password.required"
            case .tooShort: "password.too_short"
            case .tooLong: "password.too_long"
            case .containsNul: "password.invalid"
            }
        }
    }

    /// Checks a new password.
    static func check(_ password: String) throws(Fault) {
        let count = password.utf8.count
        guard count > 0 else { throw .missing }
        guard count >= byteRange.lowerBound else { throw .tooShort }
        guard count <= byteRange.upperBound else { throw .tooLong }
        guard !password.utf8.contains(0) else { throw .containsNul }
    }
}

extension HTTPError {
    /// 400 for a new password that may not be.
    init(_ fault: PasswordRules.Fault) {
        self = .badRequest(fault.message, code: fault.code)
    }
}
