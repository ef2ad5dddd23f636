/// The prepared statements of one connection, by text and parameter types.
struct StatementCache {
    struct Statement {
        let name: String
        var columns: Columns?
    }

    private struct Key: Hashable {
        let sql: String
        let types: [UInt32]
    }

    /// Statements kept before all are dropped and prepared anew.
    ///
    /// A service has some dozens; a caller that builds texts from values must not fill the server's
    /// memory. Each costs the server some 10–100 kB.
    static let limit = 256

    private var statements: [Key: Statement] = [:]
    private var counter = 0

    var isFull: Bool { statements.count >= Self.limit }

    func find(_ sql: String, _ types: [UInt32]) -> Statement? {
        statements[Key(sql: sql, types: types)]
    }

    mutating func nextName() -> String {
        counter += 1
        return "s\(counter)"
    }

    mutating func insert(_ sql: String, _ types: [UInt32], _ name: String) -> Statement {
        let statement = Statement(name: name)
        statements[Key(sql: sql, types: types)] = statement
        return statement
    }

    mutating func remember(_ columns: Columns, _ sql: String, _ types: [UInt32]) {
        statements[Key(sql: sql, types: types)]?.columns = columns
    }

    mutating func remove(_ sql: String, _ types: [UInt32]) {
        statements[Key(sql: sql, types: types)] = nil
    }
}
