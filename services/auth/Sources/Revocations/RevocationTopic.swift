internal import Bus
internal import Messages
internal import ServiceKit

/// Publishes what a look at the revocations found, so that others need not wait for theirs.
enum RevocationTopic {
    /// Entries in one message: about 60 bytes each, far below what the bus carries.
    static let entriesPerMessage = 10_000

    /// Publishes from now on.
    static func publish(_ view: RevocationView, on bus: Bus) {
        view.onNews { entries, cursor in
            for start in stride(from: 0, to: entries.count, by: entriesPerMessage) {
                let part = entries[start..<min(entries.count, start + entriesPerMessage)]
                let message = Messages.Revocations(sequence: cursor, entries: Array(part))
                // Not kept: who subscribes later has looked at the rows.
                bus.publish(
                    topic: BusTopics.revocations,
                    key: "",
                    body: message.encoded(),
                    retain: false,
                    trace: message.trace
                )
            }
        }
    }
}
