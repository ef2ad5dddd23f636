/// Somebody who stores data about subjects and can forget them.
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
}
