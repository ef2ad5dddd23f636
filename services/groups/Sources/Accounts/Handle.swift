/// A person's name as others write it (spec 1.1): 3 to 24 of `A-Z a-z 0-9 _ . -`.
///
/// Compared without regard to case; people are told apart by their ids alone.
struct Handle: Sendable, Equatable {
    /// As its owner writes it.
    let text: String

    /// Checks a text.
    ///
    /// - Returns: nil for what is no handle.
    init?(_ text: String) {
        let isValid =
            (3...24).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
                default: false
                }
            }
        guard isValid else { return nil }
        self.text = text
    }

    /// Checks what a person typed, blanks around it left out.
    init?(typed text: String) { self.init(text.trimmingWhitespace()) }
}

extension String {
    /// The text without white space at its ends.
    func trimmingWhitespace() -> String {
        var rest = self[...]
        while let first = rest.first, first.isWhitespace { rest.removeFirst() }
        while let last = rest.last, last.isWhitespace { rest.removeLast() }
        return String(rest)
    }
}
