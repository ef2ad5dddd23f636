/// Rows sorted by the group they belong to, in file order within a group.
struct Grouping {
    private let ends: [Int]
    private let order: [Int32]

    /// Counts, then places: two passes over the rows, no comparison.
    init(groups: [Int32], groupCount: Int) {
        var ends = [Int](repeating: 0, count: groupCount + 1)
        for group in groups { ends[Int(group) + 1] += 1 }
        for index in 0..<groupCount { ends[index + 1] += ends[index] }
        var next = ends
        var order = [Int32](repeating: 0, count: groups.count)
        for (row, group) in groups.enumerated() {
            order[next[Int(group)]] = Int32(truncatingIfNeeded: row)
            next[Int(group)] += 1
        }
        self.ends = ends
        self.order = order
    }

    /// The rows of a group by rising sequence number, rows with the same number in file order.
    func rows(of group: Int, by sequence: [Int32]) -> [Int] {
        var rows = order[ends[group]..<ends[group + 1]].map(Int.init)
        let isSorted = zip(rows, rows.dropFirst()).allSatisfy { sequence[$0] <= sequence[$1] }
        // `sort` is stable in practice only; the row number makes it so by contract.
        if !isSorted { rows.sort { (sequence[$0], $0) < (sequence[$1], $1) } }
        return rows
    }
}
