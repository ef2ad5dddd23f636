/// Bytes of an answer that has no end of its own, such as server-sent events.
///
/// The server asks for more whenever the caller's socket has taken what was sent, so a caller that reads
/// slowly is asked for less often, and one that stops reading holds no more than one piece.
public protocol StreamSource: Sendable {
    /// Told once, before the first ``next()``, how to say that there is more after ``StreamPiece/wait``.
    ///
    /// - Parameter wake: To be called from any thread, also when nobody waits.
    func begin(wake: @escaping @Sendable () -> Void)

    /// What is sent next; called on the server's loop thread, so it must not wait.
    func next() -> StreamPiece

    /// The caller is gone, or the server stops; nothing is asked any more.
    func end()
}

/// What a ``StreamSource`` has for its caller.
public enum StreamPiece: Sendable {
    /// Bytes, shared with whoever else sends them.
    case bytes(SharedBytes)
    /// Nothing now; the connection sleeps until it is woken.
    case wait
    /// The answer is over.
    case end
}

/// The head of a streamed answer and where its bytes come from.
public struct StreamAnswer: Sendable {
    /// Headers of the answer, among them `Content-Type`.
    public let headers: [(String, String)]
    /// Where the bytes come from.
    public let source: any StreamSource

    /// Makes an answer.
    public init(headers: [(String, String)], source: any StreamSource) {
        self.headers = headers
        self.source = source
    }
}
