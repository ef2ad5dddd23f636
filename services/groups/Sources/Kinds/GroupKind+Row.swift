internal import Database

extension GroupKind {
    /// Reads the kind of a row.
    ///
    /// - Throws: `DatabaseError` for a name that no kind has.
    init(_ row: Row, _ column: String = "kind") throws(DatabaseError) {
        let stored = try row.text(column)
        guard let kind = Self.all.first(where: { $0.storedName == stored }) else {
            throw DatabaseError(.statement, "a row of groups.groups is of no known kind")
        }
        self = kind
    }
}
