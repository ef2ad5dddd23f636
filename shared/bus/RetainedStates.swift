internal import Telemetry

/// A publication on its way out.
struct Publication {
    let topic: String
    let key: String
    let body: [UInt8]
    let trace: TraceID
    let kind: Kind

    enum Kind {
        /// Kept for new subscribers.
        case retained
        /// For those connected now.
        case passing
        /// Nothing goes out; what was kept under this key is forgotten.
        case retraction
    }
}

/// The last body of every (topic, key) this process publishes, with its place in the topic's order.
struct RetainedStates {
    struct Entry {
        let sequence: UInt64
        let trace: TraceID
        let body: [UInt8]
    }

    let limit: Int
    private(set) var count = 0
    private(set) var sequences: [String: UInt64] = [:]
    private var topics: [String: [String: Entry]] = [:]

    init(limit: Int) { self.limit = limit }

    /// The sequence number of the topic's last publication, 0 before the first.
    func sequence(of topic: String) -> UInt64 { sequences[topic] ?? 0 }

    /// Numbers a publication and keeps it if it is to be kept.
    ///
    /// - Returns: Its sequence number, and whether it could not be kept because the limit is reached.
    mutating func add(_ publication: Publication) -> (sequence: UInt64, isRefused: Bool) {
        let sequence = self.sequence(of: publication.topic) + 1
        sequences[publication.topic] = sequence
        guard publication.kind == .retained else { return (sequence, false) }
        let isNew = topics[publication.topic]?[publication.key] == nil
        if isNew {
            guard count < limit else { return (sequence, true) }
            count += 1
        }
        topics[publication.topic, default: [:]][publication.key] = Entry(
            sequence: sequence,
            trace: publication.trace,
            body: publication.body
        )
        return (sequence, false)
    }

    /// Forgets one key, so that a new subscriber does not hear it.
    mutating func remove(topic: String, key: String) {
        if topics[topic]?.removeValue(forKey: key) != nil { count -= 1 }
    }

    /// Everything retained of a topic in the order of publication.
    func all(of topic: String) -> [(key: String, entry: Entry)] {
        (topics[topic] ?? [:]).map { (key: $0.key, entry: $0.value) }
            .sorted { $0.entry.sequence < $1.entry.sequence }
    }
}
