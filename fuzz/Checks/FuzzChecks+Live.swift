internal import Messages
internal import RelayService
internal import Transit
internal import Web

extension FuzzChecks {
    /// What the live protocol's reader takes, the strict JSON reader takes as the same frame.
    ///
    /// - Parameter bytes: A client's text message.
    public static func frame(_ bytes: [UInt8]) {
        let reading = ClientFrame.read(bytes)
        guard let value = try? JSONValue(parsing: bytes, maximumDepth: 64),
            case .object(let members) = value
        else {
            // Keys of members that nobody reads may stand twice; everything else is refused.
            if case .frame = reading {
                precondition(hasRepeatedKey(bytes), "not JSON, but a frame")
            }
            return
        }
        func member(_ name: String) -> JSONValue? { members.first { $0.key == name }?.value }
        guard case .string(let type) = member("type") else {
            return precondition(reading == .malformed, "a frame without a type")
        }
        guard case .frame(let frame) = reading else { return }
        switch frame {
        case .join(let group):
            precondition(type == "join" && isID(member("groupId"), group), "another group")
        case .vote(let group, let index):
            precondition(type == "spin_vote" && isID(member("groupId"), group), "another group")
            guard case .number(let number) = member("index"), number.int64 == Int64(index),
                (0...2).contains(index)
            else { preconditionFailure("another index") }
        case .offer(let group, let candidates):
            precondition(type == "spin_offer" && isID(member("groupId"), group), "another group")
            guard case .array(let elements) = member("candidates") else {
                preconditionFailure("no destinations")
            }
            precondition(elements.count == candidates.count, "another number of destinations")
            precondition((1...3).contains(candidates.count), "too many destinations")
            precondition(candidates.allSatisfy { isPlace($0.latitude, $0.longitude) }, "nowhere")
        case .location(let location):
            precondition(type == "location", "another type")
            precondition(isPlace(location.latitude, location.longitude), "nowhere")
            guard case .number(let latitude) = member("lat"),
                latitude.double == location.latitude
            else { preconditionFailure("another place") }
            precondition(location.timestampMilliseconds ?? 1 > 0, "before 1970")
        case .auth(let token):
            precondition(type == "auth" && member("token") == .string(token), "another token")
        }
    }

    /// Bytes of a close frame's text at most (RFC 6455, section 5.5).
    private static let closeTextBytes = 125

    /// Bytes of a WebSocket come to the same, however they are cut.
    ///
    /// - Parameter bytes: The first one says how they are cut, the others are what a client sends.
    public static func socket(_ bytes: [UInt8]) {
        guard let size = bytes.first.map({ Int($0) + 1 }) else { return }
        let stream = Array(bytes.dropFirst())
        let whole = read(stream, by: stream.count + 1)
        let cut = read(stream, by: size)
        precondition(whole.messages == cut.messages, "other messages")
        // The library (1.1.1) looks at the text of a close frame in pieces and skips the first two bytes of
        // each: with rubbish in it the cut decides when the end comes, before the frame's or with it, and
        // what the last word is.
        if (whole.end == nil) != (cut.end == nil) {
            let filled = stream + [UInt8](repeating: 0, count: Self.closeTextBytes)
            let later = read(filled, by: whole.end == nil ? filled.count : size)
            precondition(later.end != nil && later.messages == whole.messages, "another end")
            return
        }
        precondition(whole.end != nil || whole.replies == cut.replies, "other replies")
        precondition(whole.counts == cut.counts, "other counts")
        precondition(whole.messages.allSatisfy { $0.count <= 64 }, "a message beyond its limit")
        for message in whole.messages {
            precondition(String(validating: message, as: UTF8.self) != nil, "text that is no UTF-8")
            frame(message)
        }
    }

    private struct Outcome {
        var messages: [[UInt8]] = []
        var replies: [UInt8] = []
        var end: WebSocketReader.End?
        var counts = [0, 0, 0]
    }

    private static func read(_ stream: [UInt8], by size: Int) -> Outcome {
        var reader = WebSocketReader(messageLimit: 64)
        let spares = WebSocketReader.Spares()
        var outcome = Outcome()
        var rest = stream[...]
        while !rest.isEmpty, outcome.end == nil {
            let reading = rest.prefix(size).withUnsafeBytes { reader.read($0, with: spares) }
            rest = rest.dropFirst(size)
            outcome.messages += reading.messages
            outcome.replies += reading.replies
            outcome.end = reading.end
            outcome.counts[0] += reading.oversize
            outcome.counts[1] += reading.binaries
            outcome.counts[2] += reading.pongs
        }
        precondition(outcome.end == nil || reader.heldBytes == 0, "memory after the end")
        return outcome
    }

    private static func isID(_ value: JSONValue?, _ id: UniqueID) -> Bool {
        guard case .string(let text) = value else { return false }
        return UniqueID(text) == id
    }

    private static func isPlace(_ latitude: Double, _ longitude: Double) -> Bool {
        (-90...90).contains(latitude) && (-180...180).contains(longitude)
    }

    /// Whether an object of the text has the same key twice.
    private static func hasRepeatedKey(_ bytes: [UInt8]) -> Bool {
        do throws(JSONError) {
            _ = try JSONValue(parsing: bytes, maximumDepth: 64)
            return false
        } catch {
            if case .duplicateKey = error { return true }
            return false
        }
    }
}
