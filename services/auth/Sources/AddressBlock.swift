internal import Glibc

/// The block of public addresses that an address lies in: 24 bits of IPv4, 48 of IPv6.
///
/// Many share a block, so it names nobody; and it leaves auth only as a keyed hash.
struct AddressBlock: Equatable, CustomStringConvertible {
    /// The block's first address in hexadecimal, with its length.
    let description: String

    /// Reads an address; nil for what is none, and for loopback, private, link-local and shared (RFC 6598)
    /// addresses: strangers have the same ones.
    init?(_ address: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, address, &four) == 1 {
            self.init(four: withUnsafeBytes(of: four) { Array($0) })
        } else if inet_pton(AF_INET6, address, &six) == 1 {
            let bytes = withUnsafeBytes(of: six) { Array($0) }
            // IPv4 as IPv6 writes it, ::ffff:a.b.c.d.
            let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
            if bytes.starts(with: mapped) {
                self.init(four: Array(bytes[12...]))
            } else {
                self.init(six: bytes)
            }
        } else {
            return nil
        }
    }

    private init?(four bytes: [UInt8]) {
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (169, 254), (172, 16...31), (192, 168), (100, 64...127),
            (224..., _):
            return nil
        default:
            description = Self.text(bytes.prefix(3)) + "/24"
        }
    }

    private init?(six bytes: [UInt8]) {
        // Global unicast is 2000::/3; everything else is local, private or not unicast at all.
        guard bytes[0] >> 5 == 1 else { return nil }
        description = Self.text(bytes.prefix(6)) + "/48"
    }

    private static func text(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }
        .joined()
    }
}
