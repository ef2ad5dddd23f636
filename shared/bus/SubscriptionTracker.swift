/// Tells, for one publisher and topic, what is new, what is a repeat and what was lost.
///
/// Live messages of a start (epoch) are numbered without gaps. Retained ones repeat old numbers,
/// and the closing mark says how far the live ones were.
struct SubscriptionTracker {
    enum Verdict: Equatable {
        /// Hand it over; so many live messages before it were lost.
        case deliver(missed: UInt64)
        /// Heard before, or from a start that ended.
        case repeated
        /// The mark after the retained states; so many live messages were lost.
        case complete(missed: UInt64)
    }

    private var epoch: UInt64?
    private var retired: UInt64?
    private var lastLive: UInt64?
    private var keys: [String: UInt64] = [:]

    /// Judges one publication.
    mutating func judge(_ header: PublicationHeader) -> Verdict {
        guard header.epoch != retired else { return .repeated }
        if epoch != header.epoch {
            retired = epoch
            epoch = header.epoch
            lastLive = nil
            keys = [:]
        }
        switch header.form {
        case .live:
            let missed = lastLive.map { header.sequence > $0 + 1 ? header.sequence - $0 - 1 : 0 }
            lastLive = max(lastLive ?? 0, header.sequence)
            keys[header.key] = max(keys[header.key] ?? 0, header.sequence)
            return .deliver(missed: missed ?? 0)
        case .retained:
            guard header.sequence > keys[header.key] ?? 0 else { return .repeated }
            keys[header.key] = header.sequence
            return .deliver(missed: 0)
        case .complete:
            let last = lastLive ?? header.sequence
            lastLive = max(last, header.sequence)
            return .complete(missed: header.sequence > last ? header.sequence - last : 0)
        }
    }
}
