internal import Transit

/// Two different accounts in the order of their ids, as a friendship's row has them.
struct Pair: Sendable, Equatable {
    /// The lower id.
    let low: UniqueID
    /// The higher id.
    let high: UniqueID

    /// Orders two accounts.
    init(_ one: UniqueID, _ other: UniqueID) {
        low = min(one, other)
        high = max(one, other)
    }

    /// Both accounts.
    var accounts: [UniqueID] { [low, high] }
}
