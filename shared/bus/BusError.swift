/// Why a call on the bus failed; every case but ``timeout`` and ``connectionLost`` says it never ran.
public enum BusError: Error, Sendable, Hashable {
    /// A setting is wrong; the sentence names it and what would be right.
    case configuration(String)
    /// No instance of this name is known.
    case unknownInstance(String)
    /// The window towards this instance is full; nothing was sent.
    case full(String)
    /// The instance refused because too many requests wait there; it did not run.
    case busy(String)
    /// The instance is stopping or serves nothing; it did not run.
    case closing(String)
    /// There was no connection in time; it was never sent.
    case unreachable(String)
    /// Sent, and no answer before the deadline: the outcome is unknown.
    case timeout(String)
    /// The connection broke before the answer: the outcome is unknown.
    case connectionLost(String)
    /// A message is larger than the limit, both in bytes.
    case tooLarge(bytes: Int, limit: Int)
    /// The calling task was cancelled: the outcome is unknown if it was sent.
    case cancelled
    /// This bus was shut down or never started.
    case closed
    /// libzmq refused an operation, with its error number and sentence.
    case system(operation: String, code: Int32, sentence: String)

    /// Whether the request may have run although there is no answer.
    public var outcomeIsUnknown: Bool {
        switch self {
        case .timeout, .connectionLost, .cancelled: true
        default: false
        }
    }

    /// A stable word for metrics and logs.
    public var name: String {
        switch self {
        case .configuration: "configuration"
        case .unknownInstance: "unknown_instance"
        case .full: "full"
        case .busy: "busy"
        case .closing: "closing"
        case .unreachable: "unreachable"
        case .timeout: "timeout"
        case .connectionLost: "connection_lost"
        case .tooLarge: "too_large"
        case .cancelled: "cancelled"
        case .closed: "closed"
        case .system: "system"
        }
    }
}

extension BusError: CustomStringConvertible {
    /// One sentence for an operator.
    public var description: String {
        switch self {
        case .configuration(let sentence): sentence
        case .unknownInstance(let instance): "no instance \"\(instance)\" is known"
        case .full(let instance): "too many requests to \(instance) are unanswered"
        case .busy(let instance): "\(instance) refused: too many requests wait there"
        case .closing(let instance): "\(instance) is stopping"
        case .unreachable(let instance): "no connection to \(instance) in time"
        case .timeout(let instance): "no answer from \(instance) before the deadline"
        case .connectionLost(let instance): "the connection to \(instance) broke"
        case .tooLarge(let bytes, let limit): "a message of \(bytes) bytes passes \(limit)"
        case .cancelled: "the caller was cancelled"
        case .closed: "the bus is closed"
        case .system(let operation, let code, let sentence):
            "\(operation) failed: \(sentence) (\(code))"
        }
    }
}
