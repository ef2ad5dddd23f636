/// What a member is called, as it is written and as it is looked up (circles spec 1.0).
struct Handle: Sendable, Equatable {
    /// Its length in characters.
    static let lengthRange = 3...24

    /// As its owner writes it.
    let text: String
    /// What is compared: `A`-`Z` lowered.
    let key: String

    /// Reads a handle of 3 to 24 of `A-Za-z0-9_.-`; nil for anything else.
    init?(_ text: String) {
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
