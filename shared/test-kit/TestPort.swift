internal import Synchronization

/// Ports of this machine for programs that are told where to listen.
///
/// A port that the kernel chose may be another test's a moment later, and Caddy shares its port with whoever
/// asks for it, too: then one test's calls are answered by the gateway of another. These lie below the kernel's
/// own range, and none is given out twice in a process.
public enum TestPort {
    private static let range = 20_000..<32_000
    private static let next = Mutex(Int.random(in: range))

    /// Ports on which nobody listens.
    ///
    /// - Parameter count: How many; each another one.
    /// - Returns: Between 20,000 and 31,999.
    /// - Throws: `RawSocketError.refused` when there are not so many.
    public static func free(_ count: Int) throws -> [Int] {
        var ports: [Int] = []
        for _ in range where ports.count < count {
            let port = next.withLock { next in
                next = next + 1 < range.upperBound ? next + 1 : range.lowerBound
                return next
            }
            if (try? LoopbackListener(port: port, listens: false)) != nil { ports.append(port) }
        }
        guard ports.count == count else { throw RawSocketError.refused }
        return ports
    }
}
