internal import Glibc

/// Where the gateway is found from this machine, by the address that it listens on.
struct GatewayAddress: Sendable {
    /// For programs, with a number as its host.
    let url: String
    /// For people.
    let shownURL: String

    /// - Parameters:
    ///   - bind: A numeric address of either family.
    ///   - port: The gateway's port.
    init(bind: String, port: Int) {
        let address = Self.plain(bind)
        let host =
            switch address {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            case _ where address.contains(":"):
                // RFC 6874: the sign before a zone is itself encoded.
                "[" + address.split(separator: "%").joined(separator: "%25") + "]"
            default: address
            }
        url = "http://\(host):\(port)"
        let isNamed = ["127.0.0.1", "0.0.0.0", "::"].contains(address)
        shownURL = isNamed ? "http://localhost:\(port)" : url
    }

    /// The usual text of an address: `0` is 0.0.0.0, `0:0::1` is ::1.
    private static func plain(_ text: String) -> String {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(text, nil, &hints, &list) == 0, let address = list?.pointee else {
            return text
        }
        defer { freeaddrinfo(list) }
        var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard
            getnameinfo(
                address.ai_addr,
                address.ai_addrlen,
                &name,
                socklen_t(name.count),
                nil,
                0,
                NI_NUMERICHOST
            ) == 0
        else { return text }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
