internal import Telemetry

/// A request of this process that has no answer yet.
struct PendingRequest {
    let correlation: UInt64
    let instance: String
    let body: [UInt8]
    /// Monotonic nanoseconds.
    let startedAt: UInt64
    /// Monotonic nanoseconds.
    let deadline: UInt64
    let trace: TraceID
    /// Whether it may be sent once more after a lost connection.
    let resend: Bool
    var attempts = 0
    var isSent = false
    /// Refused as too old after the receiver's freeze, and so sent after it now.
    var isFresh = false
}

/// Decides what happens to requests: sent in order, at most twice, failed at their deadline.
///
/// No socket and no clock in here: the loop tells what happened and when.
struct RequestLedger {
    private var entries: [UInt64: PendingRequest] = [:]
    private var unsent: [String: [UInt64]] = [:]
    /// No entry's deadline is before this reading.
    private(set) var nextDeadline = UInt64.max

    var isEmpty: Bool { entries.isEmpty }

    /// Whether something waits for a connection to this instance.
    func hasUnsent(_ instance: String) -> Bool { unsent[instance]?.isEmpty == false }

    mutating func add(_ request: PendingRequest) {
        entries[request.correlation] = request
        unsent[request.instance, default: []].append(request.correlation)
        nextDeadline = min(nextDeadline, request.deadline)
    }

    /// The requests to send to an instance, oldest first; each is to be reported by ``sent(_:)``.
    mutating func takeUnsent(_ instance: String) -> [PendingRequest] {
        (unsent.removeValue(forKey: instance) ?? []).compactMap { entries[$0] }
    }

    /// Puts back, in front, what the socket did not take.
    mutating func putBack(_ requests: some Sequence<PendingRequest>, for instance: String) {
        unsent[instance] = requests.map(\.correlation) + (unsent[instance] ?? [])
    }

    /// Notes that a request was handed to the network once more.
    mutating func sent(_ correlation: UInt64) {
        entries[correlation]?.attempts += 1
        entries[correlation]?.isSent = true
    }

    /// Takes a request out because its caller gets a result now.
    mutating func finish(_ correlation: UInt64) -> PendingRequest? {
        guard let entry = entries.removeValue(forKey: correlation) else { return nil }
        if !entry.isSent { unsent[entry.instance]?.removeAll { $0 == correlation } }
        return entry
    }

    /// Sends a request again that was refused as too old, so never ran; after the second time it is
    /// taken out and returned.
    mutating func sendAgain(_ correlation: UInt64) -> PendingRequest? {
        guard let entry = entries[correlation], entry.isSent else { return nil }
        guard entry.attempts < BusLimits.attempts else { return finish(correlation) }
        entries[correlation]?.isSent = false
        entries[correlation]?.isFresh = true
        unsent[entry.instance, default: []].append(correlation)
        return nil
    }

    /// The connection broke: what was sent once waits to be sent again, before everything newer.
    ///
    /// - Returns: The requests that were sent for the last time; they are out of the ledger.
    mutating func connectionLost(_ instance: String) -> [PendingRequest] {
        let lost = entries.values.filter { $0.instance == instance && $0.isSent }
            .sorted { $0.correlation < $1.correlation }
        let final = lost.filter { !$0.resend || $0.attempts >= BusLimits.attempts }
        for entry in final { entries[entry.correlation] = nil }
        let again = lost.filter { entries[$0.correlation] != nil }
        for entry in again { entries[entry.correlation]?.isSent = false }
        putBack(again, for: instance)
        return final
    }

    /// The instance left: everything towards it is taken out.
    mutating func instanceLeft(_ instance: String) -> [PendingRequest] {
        unsent[instance] = nil
        let gone = entries.values.filter { $0.instance == instance }
        for entry in gone { entries[entry.correlation] = nil }
        return gone
    }

    /// Takes out everything whose deadline is not after `now`.
    mutating func expire(now: UInt64) -> [PendingRequest] {
        guard now >= nextDeadline else { return [] }
        let late = entries.values.filter { $0.deadline <= now }
        for entry in late { _ = finish(entry.correlation) }
        nextDeadline = entries.values.lazy.map(\.deadline).min() ?? .max
        return late
    }

    /// Takes out everything.
    mutating func removeAll() -> [PendingRequest] {
        defer { self = RequestLedger() }
        return Array(entries.values)
    }
}
