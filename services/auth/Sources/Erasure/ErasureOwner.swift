internal import Transit

/// Somebody who stores data about subjects, can forget them and says what is stored.
struct ErasureOwner: Sendable {
    /// What an owner says when it was asked to forget.
    enum Answer: Sendable, Equatable {
        /// Nothing about the subject is stored there any more.
        case clean
        /// The same, but a mark remains that keeps a blocked installation blocked.
        case cleanButBlocked
        /// It could not be reached or could not finish; it is asked again.
        case notYet
    }

    /// The owner's name in logs.
    let name: String
    /// Whom it knows.
    let kinds: Set<Erasure.Kind>
    /// Asks it; idempotent, as a question may be repeated at any time.
    let erase: @Sendable (Erasure) async -> Answer
    /// Reads what it stores about an account, as one JSON value; nil when it cannot be read now.
    ///
    /// Absent where only riders are known, whose export is another.
    var export: (@Sendable (_ account: UniqueID) async -> [UInt8]?)?
}
