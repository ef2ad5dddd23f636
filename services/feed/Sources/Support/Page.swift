internal import Web

/// Which part of a list a caller asked for.
struct Page: Sendable, Equatable {
    /// At most how many entries.
    let limit: Int
    /// How many entries are left out before the first.
    let offset: Int

    /// Reads `limit` (1-200, 50 by default) and `offset` (0 to 2,147,483,647), as spec 1.3 has them.
    ///
    /// - Throws: 400 with the bounds.
    init(_ query: QueryItems) throws(HTTPError) {
        limit = try query.integer("limit", default: 50, in: 1...200)
        offset = try query.integer("offset", default: 0, in: 0...Int(Int32.max))
    }
}

extension QueryItems {
    /// A whole number; one that is absent or empty is the default.
    ///
    /// - Throws: 400 for anything but a number within the bounds.
    func integer(
        _ name: String,
        default fallback: Int,
        in bounds: ClosedRange<Int>
    ) throws(HTTPError) -> Int {
        guard let text = first(name), !text.isEmpty else { return fallback }
        guard let number = Int(text), bounds.contains(number) else {
            throw .badRequest(
                "\(name) must be between \(bounds.lowerBound) and \(bounds.upperBound)",
                code: "\(name).invalid"
            )
        }
        return number
    }
}
