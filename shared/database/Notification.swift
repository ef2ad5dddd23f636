/// What `NOTIFY` said.
public struct Notification: Hashable, Sendable {
    /// The channel that was notified.
    public let channel: String
    /// The text that came along, at most 8,000 bytes.
    public let payload: String
    /// The server process of the session that notified.
    public let senderPID: Int32
}
