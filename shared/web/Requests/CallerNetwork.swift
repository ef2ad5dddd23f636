extension String {
    /// The network that counts as one caller, of a numeric address: an IPv6 address's first 64 bits, as
    /// each home has as many addresses as it likes; any other address as it is.
    public var callerNetwork: String {
        guard contains(":") else { return self }
        var groups: [Substring] = []
        let halves = self.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        groups = halves[0].split(separator: ":")
        if halves.count == 2 {
            let rest = halves[1].split(separator: ":")
            groups += Array(repeating: "0", count: max(0, 8 - groups.count - rest.count)) + rest
        }
        return groups.prefix(4).map { group in
            String(UInt32(group, radix: 16) ?? 0, radix: 16)
        }.joined(separator: ":") + "::/64"
    }
}
