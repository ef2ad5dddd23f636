internal import Telemetry

/// What stands before a body on the wire: fixed fields, then names, numbers most significant first.
///
/// A later version only adds fields at the end, which older readers skip. Remaining time travels
/// instead of an instant because the clocks of two machines are never compared.
enum Wire {
    static let version: UInt8 = 1
    /// Longest service, instance and topic name and longest key, in bytes of UTF-8.
    static let nameBytes = 200

    enum Kind: UInt8 {
        case request = 1
        case answer = 2
        case publication = 3
        case goodbye = 4
    }

    /// A name that is safe in a path, a topic and a log line.
    static func isName(_ text: String) -> Bool {
        (1...nameBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x5F, 0x2D: true
                default: false
                }
            }
            && text != "." && text != ".."
    }
}

/// The head of a request.
struct RequestHeader: Equatable {
    var correlation: UInt64
    var remainingMilliseconds: UInt32
    var trace: TraceID
    /// Who asks; for logs only.
    var sender: String
    /// Who is meant, so that an address taken over by another process is noticed.
    var target: String
    /// Whether it answers a refusal as too old, so that it was surely sent after the freeze.
    var isFresh = false

    func encoded() -> [UInt8] {
        var writer = WireWriter(.request)
        writer.append(correlation)
        writer.append(remainingMilliseconds)
        writer.append(trace.high)
        writer.append(trace.low)
        writer.append(sender)
        writer.append(target)
        writer.bytes.append(isFresh ? 1 : 0)
        return writer.bytes
    }
}

extension RequestHeader {
    init?(decoding bytes: [UInt8]) {
        var reader = WireReader(bytes)
        guard reader.begins(.request), let correlation = reader.uint64(),
            let remaining = reader.uint32(), let high = reader.uint64(), let low = reader.uint64(),
            let sender = reader.text(), let target = reader.text(), let fresh = reader.uint8()
        else { return nil }
        self.init(
            correlation: correlation,
            remainingMilliseconds: remaining,
            trace: TraceID(high: high, low: low),
            sender: sender,
            target: target,
            isFresh: fresh == 1
        )
    }
}

/// The head of an answer.
struct AnswerHeader: Equatable {
    enum Status: UInt8 {
        /// The body is the handler's answer.
        case answered = 0
        /// Not run: too many requests wait.
        case busy = 1
        /// Not run: the instance is stopping or serves nothing.
        case closing = 2
        /// Not run: past its deadline as far as the receiver can tell.
        case expired = 3
        /// Not run: meant for another instance.
        case misdirected = 4
        /// Run, but its answer is larger than a message may be.
        case tooLarge = 5
    }

    var correlation: UInt64
    var status: Status

    func encoded() -> [UInt8] {
        var writer = WireWriter(.answer)
        writer.append(correlation)
        writer.bytes.append(status.rawValue)
        return writer.bytes
    }
}

extension AnswerHeader {
    init?(decoding bytes: [UInt8]) {
        var reader = WireReader(bytes)
        guard reader.begins(.answer), let correlation = reader.uint64(),
            let status = reader.uint8().flatMap(Status.init(rawValue:))
        else { return nil }
        self.init(correlation: correlation, status: status)
    }
}

/// The last word of a stopping instance on a connection, and the echo of who heard it.
///
/// It comes after all answers in the same order, so the echo says that they arrived. libzmq's own
/// linger does not: it may close a connection whose last bytes are half written, and a kernel drops
/// what it has not sent when a socket with unread data is closed.
struct Goodbye: Equatable {
    /// Whether everything that was accepted was answered, so that what is unanswered never ran.
    var isComplete: Bool

    func encoded() -> [UInt8] {
        var writer = WireWriter(.goodbye)
        writer.bytes.append(isComplete ? 1 : 0)
        return writer.bytes
    }
}

extension Goodbye {
    init?(decoding bytes: [UInt8]) {
        var reader = WireReader(bytes)
        guard reader.begins(.goodbye), let flag = reader.uint8() else { return nil }
        self.init(isComplete: flag == 1)
    }
}

/// The head of a publication.
struct PublicationHeader: Equatable {
    enum Form: UInt8 {
        /// Sent to everyone when it was published.
        case live = 0
        /// A retained state, sent again to one subscriber.
        case retained = 1
        /// The end of the retained states; `sequence` is the topic's last.
        case complete = 2
    }

    var form: Form
    var epoch: UInt64
    var sequence: UInt64
    var trace: TraceID
    var instance: String
    var topic: String
    var key: String

    func encoded() -> [UInt8] {
        var writer = WireWriter(.publication)
        writer.bytes.append(form.rawValue)
        writer.append(epoch)
        writer.append(sequence)
        writer.append(trace.high)
        writer.append(trace.low)
        writer.append(instance)
        writer.append(topic)
        writer.append(key)
        return writer.bytes
    }
}

extension PublicationHeader {
    init?(decoding bytes: [UInt8]) {
        var reader = WireReader(bytes)
        guard reader.begins(.publication), let form = reader.uint8().flatMap(Form.init(rawValue:)),
            let epoch = reader.uint64(), let sequence = reader.uint64(),
            let high = reader.uint64(), let low = reader.uint64(), let instance = reader.text(),
            let topic = reader.text(), let key = reader.text()
        else { return nil }
        self.init(
            form: form,
            epoch: epoch,
            sequence: sequence,
            trace: TraceID(high: high, low: low),
            instance: instance,
            topic: topic,
            key: key
        )
    }
}

/// Appends fields most significant byte first.
struct WireWriter {
    var bytes: [UInt8] = [0x41, 0x42, Wire.version]

    init(_ kind: Wire.Kind) {
        bytes.reserveCapacity(96)
        bytes.append(kind.rawValue)
    }

    mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Two bytes of length and UTF-8; names are checked before they get here.
    mutating func append(_ text: String) {
        append(UInt16(truncatingIfNeeded: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }
}

/// Reads fields and answers nil instead of reading past the end.
struct WireReader {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The two marking bytes, a version of at least 1, and the kind.
    mutating func begins(_ kind: Wire.Kind) -> Bool {
        uint8() == 0x41 && uint8() == 0x42 && (uint8() ?? 0) >= 1 && uint8() == kind.rawValue
    }

    mutating func uint8() -> UInt8? { integer() }
    mutating func uint32() -> UInt32? { integer() }
    mutating func uint64() -> UInt64? { integer() }

    mutating func text() -> String? {
        guard let length: UInt16 = integer(), Int(length) <= Wire.nameBytes,
            bytes.count - offset >= Int(length)
        else { return nil }
        defer { offset += Int(length) }
        return String(validating: bytes[offset..<offset + Int(length)], as: UTF8.self)
    }

    private mutating func integer<Value: FixedWidthInteger>() -> Value? {
        let size = MemoryLayout<Value>.size
        guard bytes.count - offset >= size else { return nil }
        defer { offset += size }
        return bytes[offset..<offset + size].reduce(0) { $0 << 8 | Value(truncatingIfNeeded: $1) }
    }
}
