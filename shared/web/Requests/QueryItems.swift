/// The part of a request target after the `?`, names and values decoded once.
public struct QueryItems: Sendable {
    /// Names and values in the order in which they came.
    public let items: [(name: String, value: String)]

    /// Makes a list from names and values.
    public init(_ items: [(name: String, value: String)] = []) { self.items = items }

    /// Reads `a=1&b=2`; a name without `=` has an empty value and `+` is a space.
    ///
    /// - Returns: nil when a part is not percent-encoded UTF-8.
    init?(decoding text: some Collection<UInt8>) {
        var items: [(name: String, value: String)] = []
        for part in text.split(separator: 0x26) {
            let pair = part.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentDecoding.decode(pair[0], plusIsSpace: true) else { return nil }
            guard pair.count > 1 else {
                items.append((name, ""))
                continue
            }
            guard let value = PercentDecoding.decode(pair[1], plusIsSpace: true) else { return nil }
            items.append((name, value))
        }
        self.items = items
    }

    /// The first value of this name.
    public func first(_ name: String) -> String? {
        items.first { $0.name == name }?.value
    }

    /// All values of this name, in order.
    public func all(_ name: String) -> [String] {
        items.filter { $0.name == name }.map(\.value)
    }
}
