internal import CMicrohttpd

/// The textual address of a peer, and what a trusted proxy says about it.
enum ClientAddress {
    /// The numeric address of a socket's peer; IPv4 in IPv6 reads as IPv4.
    static func text(of address: UnsafePointer<sockaddr>?) -> String {
        guard let address else { return "" }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN) + 1)
        let raw = UnsafeRawPointer(address)
        // The member belongs to whichever of two C modules the compiler reads first; it comes first.
        let family = Int32(raw.load(as: sa_family_t.self))
        let offset: Int
        if family == AF_INET {
            offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4
        } else if family == AF_INET6 {
            offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8
        } else {
            return ""
        }
        guard inet_ntop(family, raw + offset, &text, socklen_t(text.count)) != nil else {
            return ""
        }
        return unmapped(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
    }

    /// The rightmost hop of `X-Forwarded-For`: what the proxy next to us saw.
    ///
    /// Earlier hops are the caller's own words.
    ///
    /// - Returns: nil when there is none or it is no numeric address.
    static func forwarded(_ headers: HTTPHeaders) -> String? {
        guard let line = headers.last("X-Forwarded-For") else { return nil }
        let hops = line.split(separator: ",", omittingEmptySubsequences: false)
        guard let hop = hops.last else { return nil }
        let text = String(hop.filter { $0 != " " && $0 != "\t" })
        return numeric(text)
    }

    /// A numeric address without brackets and port, in its canonical text.
    private static func numeric(_ text: String) -> String? {
        var text = text
        if text.first == "[", let end = text.firstIndex(of: "]") {
            text = String(text[text.index(after: text.startIndex)..<end])
        } else if text.count(where: { $0 == ":" }) == 1, let colon = text.firstIndex(of: ":") {
            text = String(text[..<colon])
        }
        for family in [AF_INET, AF_INET6] {
            var bytes = [UInt8](repeating: 0, count: 16)
            guard inet_pton(family, text, &bytes) == 1 else { continue }
            var canonical = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN) + 1)
            guard inet_ntop(family, bytes, &canonical, socklen_t(canonical.count)) != nil else {
                continue
            }
            let result = canonical.prefix { $0 != 0 }.map(UInt8.init)
            return unmapped(String(decoding: result, as: UTF8.self))
        }
        return nil
    }

    private static func unmapped(_ text: String) -> String {
        let prefix = "::ffff:"
        guard text.hasPrefix(prefix), text.contains(".") else { return text }
        return String(text.dropFirst(prefix.count))
    }
}
