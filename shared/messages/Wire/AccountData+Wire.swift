internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension EraseAccount: WireMessage {
    /// The protobuf bytes of this request.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__erase_account__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
                (wire.has_received_at, wire.received_at) = (1, receivedAt)
            }
        )
    }

    /// Reads a request.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__erase_account__unpack) {
            wire throws(MessageError) in
            // Tells it from a `GroupsRequest`, which groups hears on the same socket.
            guard wire.has_received_at != 0 else { throw .missingField("received_at") }
            return EraseAccount(
                trace: Messages.trace(wire.header),
                accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
                receivedAt: wire.received_at
            )
        }
    }
}

extension EraseAccountAnswer: WireMessage {
    /// The protobuf bytes of this answer.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__erase_account_answer__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_clean, wire.clean) = (1, isClean ? 1 : 0)
            }
        )
    }

    /// Reads an answer.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__erase_account_answer__unpack) {
            wire throws(MessageError) in
            guard wire.has_clean != 0 else { throw .missingField("clean") }
            return EraseAccountAnswer(
                trace: Messages.trace(wire.header),
                isClean: wire.clean != 0
            )
        }
    }
}

extension AccountDataQuery: WireMessage {
    /// The protobuf bytes of this request.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__account_data_query__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
                (wire.has_cursor, wire.cursor) = (1, arena.text(cursor))
            }
        )
    }

    /// Reads a request.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__account_data_query__unpack) {
            wire throws(MessageError) in
            // Tells it from an `EraseAccount`, which comes on the same socket.
            guard wire.has_cursor != 0 else { throw .missingField("cursor") }
            return AccountDataQuery(
                trace: Messages.trace(wire.header),
                accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
                cursor: wire.cursor.text
            )
        }
    }
}

extension AccountDataAnswer: WireMessage {
    /// The protobuf bytes of this answer.
    public func encoded() -> [UInt8] {
        // A part may be megabytes: it is lent, so its bytes live as long as the packing.
        guard case .part(let json, let next) = body else { return packed(nil) }
        return json.withUnsafeBufferPointer { packed(($0, next)) }
    }

    private func packed(_ part: (json: UnsafeBufferPointer<UInt8>, next: String?)?) -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__account_data_answer__init) { wire in
                wire.header = arena.header(trace)
                guard let part else {
                    wire.body_case = ALONGSIDE__ACCOUNT_DATA_ANSWER__BODY_UNAVAILABLE
                    wire.unavailable = 1
                    return
                }
                wire.body_case = ALONGSIDE__ACCOUNT_DATA_ANSWER__BODY_PART
                wire.part = arena.message(alongside__account_data_answer__part__init) {
                    ($0.has_json, $0.json) = (1, arena.borrowed(part.json))
                    if let next = part.next { ($0.has_next, $0.next) = (1, arena.text(next)) }
                }
            }
        )
    }

    /// Reads an answer.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__account_data_answer__unpack) {
            wire throws(MessageError) in
            AccountDataAnswer(trace: Messages.trace(wire.header), body: try Body(wire))
        }
    }
}

extension AccountDataAnswer.Body {
    fileprivate init(_ wire: Alongside__AccountDataAnswer) throws(MessageError) {
        switch wire.body_case {
        case ALONGSIDE__ACCOUNT_DATA_ANSWER__BODY_PART:
            let part = try pointee(wire.part, "part")
            self = .part(
                Array(part.json.bytes),
                next: part.has_next != 0 ? part.next.text : nil
            )
        case ALONGSIDE__ACCOUNT_DATA_ANSWER__BODY_UNAVAILABLE: self = .unavailable
        default: throw .missingField("body")
        }
    }
}
