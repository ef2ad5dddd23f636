internal import Web

/// An e-mail address, as it is written and as it is looked up.
///
/// Whether mail arrives there is not known; an address is only refused when it cannot be one.
struct EmailAddress: Sendable, Equatable {
    /// The longest address that mail can carry, in bytes (RFC 5321 section 4.5.3.1).
    static let byteLimit = 254

    /// As its owner writes it.
    let text: String
    /// What is compared: all letters lowered, as no provider of note tells them apart.
    let key: String

    /// Reads an address, white space around it left out; nil for what cannot be one.
    init?(_ text: String) {
        let text = text.trimmingWhitespace()
        guard text.utf8.count <= Self.byteLimit else { return nil }
        let isPlain =
            text.isVisible && !text.unicodeScalars.contains(where: \.properties.isWhitespace)
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard isPlain, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.text = text
        key = text.lowercased()
    }
}
