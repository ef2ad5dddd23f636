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
        // Each fix of a rider is one, so it is written without a writer's checks.
        var row: [UInt8] = []
        row.reserveCapacity(160)
        row += "{\"u\":\"".utf8
        accountID.append(to: &row)
        row += "\",\"lat\":".utf8
        JSONNumber.append(latitude, to: &row)
        row += ",\"lon\":".utf8
        JSONNumber.append(longitude, to: &row)
        if let headingDegrees {
            row += ",\"h\":".utf8
            JSONNumber.append(headingDegrees, to: &row)
        }
        if let speedKilometersPerHour {
            row += ",\"s\":".utf8
            JSONNumber.append(speedKilometersPerHour, to: &row)
        }
        row += ",\"ts\":".utf8
        JSONNumber.append(timestampMilliseconds, to: &row)
        row += ",\"ttl\":".utf8
        JSONNumber.append(Int64(ttlSeconds), to: &row)
        row.append(UInt8(ascii: "}"))
        return row
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
