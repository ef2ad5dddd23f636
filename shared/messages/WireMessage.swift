public import Telemetry

/// A message that services send each other over the bus, as protobuf bytes.
///
/// The schema is `shared/messages/proto`. It evolves additively: fields that a reader does not know
/// are skipped and fields that a writer did not know are absent, so two releases can run side by
/// side. Every message carries the version of the schema that wrote it and a trace id.
public protocol WireMessage: Sendable, Equatable {
    /// The W3C trace that this message belongs to.
    var trace: TraceID { get }

    /// The protobuf bytes of this message.
    func encoded() -> [UInt8]

    /// Reads a message, copying what it keeps out of `bytes`.
    ///
    /// - Parameter bytes: One whole message, as the peer sent it; may be anything at all.
    /// - Throws: ``MessageError``; the message is then to be counted and dropped.
    init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError)
}

extension WireMessage {
    /// Reads a message.
    ///
    /// - Parameter bytes: One whole message, as the peer sent it; may be anything at all.
    /// - Throws: ``MessageError``; the message is then to be counted and dropped.
    public init(decoding bytes: [UInt8]) throws(MessageError) {
        let result = bytes.withUnsafeBytes { raw in
            Result { () throws(MessageError) in try Self(decoding: raw) }
        }
        self = try result.get()
    }
}

/// Why bytes are not the message that they were taken for.
public enum MessageError: Error, Equatable, CustomStringConvertible {
    /// Longer than ``MessageLimits/maximumBytes``.
    case tooLong(bytes: Int)
    /// Not protobuf of this schema, cut off, or needing more memory than its length justifies.
    case malformed
    /// A field without which the message means nothing is absent.
    case missingField(String)
    /// A field's value is outside what the schema allows.
    case invalidField(String)
    /// A request or reply of a kind that this release does not know.
    case unknownBody

    /// A sentence for the log; holds no content of the message.
    public var description: String {
        switch self {
        case .tooLong(let bytes):
            "the message has \(bytes) bytes, the limit is \(MessageLimits.maximumBytes)"
        case .malformed: "the message is not protobuf of the expected kind"
        case .missingField(let name): "the message has no field \(name)"
        case .invalidField(let name): "the message's field \(name) has an impossible value"
        case .unknownBody: "the message is of a kind that this release does not know"
        }
    }
}

/// What every reader of messages holds to.
public enum MessageLimits {
    /// The version of the schema that this release writes.
    public static let version: UInt32 = 1
    /// Bytes; a built feed of 30,000 vehicles in every form is some 30 MB.
    public static let maximumBytes = 64 << 20
}
