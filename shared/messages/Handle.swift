/// What a member is called, as it is written and as it is looked up: 3 to 24 of `A-Z a-z 0-9 _ . -`
/// (circles spec 1.1).
///
/// Compared without regard to case; people are told apart by their ids alone.
public struct Handle: Sendable, Equatable {
    /// Its length in characters.
    public static let lengthRange = 3...24

    /// As its owner writes it.
    public let text: String
    /// What is compared: `A`-`Z` lowered.
    public let key: String

    /// Reads a handle.
    ///
    /// - Returns: nil for what is no handle.
    public init?(_ text: String) {
        let isAllowed = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2E, 0x2D: true
            default: false
            }
        }
        guard isAllowed, Self.lengthRange.contains(text.utf8.count) else { return nil }
        self.text = text
        key = text.lowercased()
    }
}
