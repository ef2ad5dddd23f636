internal import Web

/// One client's socket; touched by the relay's thread alone.
final class Connection {
    /// How far a close has come.
    struct Closing {
        /// When the socket is cut, monotonic nanoseconds.
        let deadline: UInt64
        /// Whether our side is shut.
        var isShut = false
    }

    let descriptor: Int32
    let session: Session
    var reader = WebSocketReader(messageLimit: RelayLimits.messageBytes)
    /// Bytes that came before the socket could be read.
    var early: [UInt8]
    /// When what is being looked at was read, the application clock, POSIX milliseconds.
    var readAt: Int64
    /// Messages that wait until the one before them is answered.
    var inbox: ArraySlice<[UInt8]> = []
    /// A frame of which the kernel took only the first bytes.
    var partial: (bytes: [UInt8], offset: Int)?
    var reads = false
    var writes = false
    var nextPingAt: UInt64
    var unansweredPings = 0
    /// Since when the kernel takes nothing of what waits.
    var stuckSince: UInt64?
    /// Since when a message has been incomplete.
    var incompleteSince: UInt64?
    /// What is counted for it in the process's totals, in bytes.
    var unfinishedBytes = 0
    var queuedBytes = 0
    var closing: Closing?
    var isDead = false

    init(_ socket: UpgradedSocket, session: Session, at now: Int64, nextPingAt: UInt64) {
        readAt = now
        descriptor = socket.descriptor
        early = socket.receivedBytes
        self.session = session
        self.nextPingAt = nextPingAt
    }
}
