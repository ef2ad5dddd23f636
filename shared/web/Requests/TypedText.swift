extension String {
    /// The text without white space at its ends, as a person typed it.
    public func trimmingWhitespace() -> String {
        var rest = self[...]
        while let first = rest.first, first.isWhitespace { rest.removeFirst() }
        while let last = rest.last, last.isWhitespace { rest.removeLast() }
        return String(rest)
    }
}
