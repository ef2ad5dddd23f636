internal import Web

/// The name of a group: 1 to 40 characters (Unicode scalars) that one sees, blanks at its ends left
/// out.
struct GroupName: Sendable, Equatable {
    /// Characters of a name.
    static let maximumLength = 40

    /// The name.
    let text: String

    /// Checks what a person typed.
    ///
    /// - Throws: 400 for a blank or longer name, and for one that is not what one sees.
    init(typed text: String?) throws(HTTPError) {
        let name = (text ?? "").trimmingWhitespace()
        guard !name.isEmpty else { throw .nameRequired }
        guard name.unicodeScalars.count <= Self.maximumLength else { throw .nameTooLong }
        guard name.isVisible else { throw .nameInvalid }
        self.text = name
    }
}
