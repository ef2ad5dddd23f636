internal import Messages
internal import Transit
internal import Web

/// Where someone is, encoded once for everyone who may see it.
///
/// A class, so that thousands of queues share one; it never changes.
final class Position {
    /// Tells positions apart: no two of a process have the same.
    let serial: UInt64
    /// Whose it is.
    let account: UniqueID
    /// The row of a `positions` frame.
    let row: [UInt8]

    init(serial: UInt64, account: UniqueID, row: [UInt8]) {
        self.serial = serial
        self.account = account
        self.row = row
    }
}

extension RelayedFix {
    /// The fix as a row of a `positions` frame: `u`, `lat`, `lon`, `h`, `s`, `ts`, `ttl`.
    ///
    /// - Parameter ttlSeconds: How long it counts from its arrival on.
    /// - Returns: JSON.
    func row(ttlSeconds: Int) -> [UInt8] {
        var json = JSONWriter(capacity: 160)
        json.beginObject()
        json.member("u", accountID.description)
        json.member("lat", latitude)
        json.member("lon", longitude)
        if let headingDegrees { json.member("h", headingDegrees) }
        if let speedKilometersPerHour { json.member("s", speedKilometersPerHour) }
        json.member("ts", timestampMilliseconds)
        json.member("ttl", ttlSeconds)
        json.endObject()
        return json.bytes
    }

    /// How long it still counts.
    ///
    /// - Parameter now: The application clock, POSIX milliseconds.
    /// - Returns: Whole seconds, at least one; nil when it does not count any more.
    func remainingSeconds(at now: Int64) -> Int? {
        let age = max(0, now - receivedAtMilliseconds)
        let rest = Int64(ttlSeconds) * 1000 - age
        return rest > 0 ? Int((rest + 999) / 1000) : nil
    }
}
