internal import Transit

/// Asks auth about accounts of staff.
///
/// The feed keeps no accounts; it needs to know whether one exists, and its name for the admin's
/// lists.
struct AccountDirectory: Sendable {
    /// What is known of an account.
    enum Answer: Sendable, Equatable {
        /// It exists and is called so.
        case known(name: String)
        /// There is no such account.
        case unknown
        /// Nobody can be asked now.
        case unavailable
    }

    /// Looks one account up; bounded in time by itself.
    let lookUp: @Sendable (UniqueID) async -> Answer

    /// A directory without auth behind it: names stay empty and every id counts as an account.
    static let absent = AccountDirectory { _ in .unavailable }
}
