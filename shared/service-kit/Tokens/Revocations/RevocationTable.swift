internal import Synchronization
internal import Transit

/// The revocations that a process knows, in memory.
///
/// A row is 24 bytes in a hash table, 32 to 64 with its free places. The table is cut into parts
/// with a lock each, so that growing or sweeping one holds up a look-up only for a moment.
final class RevocationTable: Sendable {
    static let partCount = 64

    /// Times in POSIX seconds, cut to 32 bits: enough until 2106.
    private struct Row {
        var revokedAt: UInt32
        var until: UInt32
    }

    private final class Part: Sendable {
        let rows = Mutex<[RevocationKey: Row]>([:])
    }

    private let parts = (0..<partCount).map { _ in Part() }

    /// How many revocations are known.
    var count: Int { parts.reduce(0) { $0 + $1.rows.withLock(\.count) } }

    /// Takes a revocation; of two about the same the later times hold.
    ///
    /// - Returns: Whether it says something new.
    @discardableResult
    func insert(_ key: RevocationKey, revokedAt: UnixSeconds, until: UnixSeconds) -> Bool {
        let new = Row(revokedAt: UInt32(clamping: revokedAt), until: UInt32(clamping: until))
        return part(of: key).rows.withLock { rows in
            guard let old = rows[key] else {
                rows[key] = new
                return true
            }
            rows[key] = Row(
                revokedAt: max(old.revokedAt, new.revokedAt),
                until: max(old.until, new.until)
            )
            return new.revokedAt > old.revokedAt || new.until > old.until
        }
    }

    /// When a token or subject was revoked, POSIX seconds; nil when it was not.
    func revocation(of key: RevocationKey) -> UnixSeconds? {
        part(of: key).rows.withLock { rows in rows[key].map { UnixSeconds($0.revokedAt) } }
    }

    /// Drops the rows of one part whose tokens have all expired.
    ///
    /// - Parameters:
    ///   - number: Any number; each part is the turn of one in ``partCount``.
    ///   - now: The application clock.
    func sweep(part number: Int, at now: UnixSeconds) {
        let now = UInt32(clamping: now)
        parts[number % Self.partCount].rows.withLock { rows in
            guard rows.contains(where: { $0.value.until < now }) else { return }
            // Built anew, so that the memory of many expired rows is given back.
            rows = Dictionary(uniqueKeysWithValues: rows.lazy.filter { $0.value.until >= now }
                .map { ($0.key, $0.value) })
        }
    }

    private func part(of key: RevocationKey) -> Part {
        parts[Int(key.low % UInt64(Self.partCount))]
    }
}
