internal import ServiceKit

/// How often log-ins, sign-ups and confirmations by password may be tried in a minute.
struct AttemptLimits: Sendable {
    static let addressSetting = Setting.integer(
        "LOGIN_ADDRESS_LIMIT",
        default: 10,
        in: 1...1_000_000,
        "Log-ins and refreshes from one address in a minute."
    )
    static let identitySetting = Setting.integer(
        "LOGIN_IDENTITY_LIMIT",
        default: 5,
        in: 1...1_000_000,
        "Failed log-ins with one handle or e-mail address in a minute."
    )
    static let signUpSetting = Setting.integer(
        "SIGNUP_LIMIT",
        default: 5,
        in: 1...1_000_000,
        "Sign-ups from one address in a minute."
    )

    /// Log-ins and refreshes by address.
    let address: AddressLimiter
    /// Log-ins by identity; a success forgets the ones before it.
    let identity: AttemptLimiter
    /// Sign-ups by address.
    let signUp: AddressLimiter
    /// Passwords that a logged-in caller confirms something with, by account: a stolen access token
    /// must not become a way to guess.
    let confirmation: AttemptLimiter

    init(_ settings: Settings, keys: KeyRing) {
        func limiter(_ kind: String, _ limit: Setting<Int>) -> AttemptLimiter {
            AttemptLimiter(kind: kind, limit: settings[limit], keys: keys)
        }
        address = AddressLimiter(limiter("login.address", Self.addressSetting))
        identity = limiter("login.identity", Self.identitySetting)
        signUp = AddressLimiter(limiter("signup", Self.signUpSetting))
        confirmation = limiter("password.confirmation", Self.identitySetting)
    }
}
