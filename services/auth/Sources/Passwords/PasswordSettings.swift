internal import ServiceKit

extension Argon2Costs {
    /// OWASP's first recommendation for argon2id; about 0.1 s on a core of 2020.
    static let standard = Argon2Costs(passes: 2, memoryKiB: 19_456)
}

/// The settings of password hashes.
///
/// After a change the stored ones are made anew, each at the next log-in of its account.
enum PasswordSettings {
    static let memory = Setting.integer(
        "PASSWORD_HASH_MEMORY_KIB",
        default: Argon2Costs.standard.memoryKiB,
        in: 7_168...1_048_576,
        "Memory of one password hash (argon2id) while it is computed."
    )
    static let passes = Setting.integer(
        "PASSWORD_HASH_PASSES",
        default: Argon2Costs.standard.passes,
        in: 1...100,
        "Passes of one password hash over its memory."
    )
    static let threads = Setting.integer(
        "PASSWORD_HASH_THREADS",
        default: 1,
        in: 1...16,
        "Password hashes computed at once; each keeps a core busy and has memory of its own."
    )
}
