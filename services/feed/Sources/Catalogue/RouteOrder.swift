internal import Transit

/// The order in which people expect routes (spec 1.12): as the agency sorts them, then 7 before 10
/// before 10A before A.
enum RouteOrder {
    /// Whether a route stands before another.
    static func precedes(_ left: Route, _ right: Route) -> Bool {
        let leftOrder = left.sortOrder ?? Int.max
        let rightOrder = right.sortOrder ?? Int.max
        if leftOrder != rightOrder { return leftOrder < rightOrder }
        let leftName = natural(left.shortName)
        let rightName = natural(right.shortName)
        if leftName.number != rightName.number { return leftName.number < rightName.number }
        if leftName.rest != rightName.rest {
            return leftName.rest.lexicographicallyPrecedes(rightName.rest)
        }
        if left.longName != right.longName {
            return left.longName.utf8.lexicographicallyPrecedes(right.longName.utf8)
        }
        return left.id < right.id
    }

    /// The leading number, beyond all numbers when there is none, and what follows it.
    private static func natural(_ name: String) -> (number: Int, rest: [UInt8]) {
        let digits = name.utf8.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty, let number = Int(String(Substring(digits))) else {
            return (.max, Array(name.utf8))
        }
        return (number, Array(name.utf8.dropFirst(digits.count)))
    }
}
