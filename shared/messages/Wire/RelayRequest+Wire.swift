internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension RelayRequest: WireMessage {
    /// The protobuf bytes of this request.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__relay_request__init) { message in
                message.header = arena.header(trace)
                (message.has_request_id, message.request_id) = (1, arena.id(requestID))
                switch body {
                case .takeAway(let withdrawals):
                    message.body_case = ALONGSIDE__RELAY_REQUEST__BODY_TAKE_AWAY
                    message.take_away = arena.message(alongside__take_away__init) { wire in
                        (wire.n_entries, wire.entries) = (
                            withdrawals.count, arena.messages(withdrawals) { $0.wire(arena) }
                        )
                    }
                case .checkSessions:
                    message.body_case = ALONGSIDE__RELAY_REQUEST__BODY_CHECK_SESSIONS
                    message.check_sessions = 1
                case .departed(let departures):
                    message.body_case = ALONGSIDE__RELAY_REQUEST__BODY_DEPARTED
                    message.departed = arena.message(alongside__departures__init) { wire in
                        (wire.n_entries, wire.entries) = (
                            departures.count, arena.messages(departures) { $0.wire(arena) }
                        )
                    }
                }
            }
        )
    }

    /// Reads a request.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__relay_request__unpack) {
            message throws(MessageError) in
            RelayRequest(
                requestID: try uniqueID(message.has_request_id, message.request_id, "request_id"),
                trace: Messages.trace(message.header),
                body: try Body(message)
            )
        }
    }
}

extension RelayRequest.Body {
    fileprivate init(_ message: Alongside__RelayRequest) throws(MessageError) {
        switch message.body_case {
        case ALONGSIDE__RELAY_REQUEST__BODY_TAKE_AWAY:
            let wire = try pointee(message.take_away, "take_away")
            self = .takeAway(
                try values(wire.entries, wire.n_entries) { entry throws(MessageError) in
                    try Withdrawal(entry)
                }
            )
        case ALONGSIDE__RELAY_REQUEST__BODY_CHECK_SESSIONS:
            guard message.check_sessions != 0 else { throw .invalidField("check_sessions") }
            self = .checkSessions
        case ALONGSIDE__RELAY_REQUEST__BODY_DEPARTED:
            let wire = try pointee(message.departed, "departed")
            self = .departed(
                try values(wire.entries, wire.n_entries) { entry throws(MessageError) in
                    try RelayedDeparture(entry)
                }
            )
        default: throw .unknownBody
        }
    }
}

extension RelayReply: WireMessage {
    /// The protobuf bytes of this answer.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__relay_reply__init) { message in
                message.header = arena.header(trace)
                (message.has_request_id, message.request_id) = (1, arena.id(requestID))
                switch body {
                case .takenAway:
                    message.body_case = ALONGSIDE__RELAY_REPLY__BODY_TAKEN_AWAY
                    message.taken_away = 1
                case .sessionsChecked:
                    message.body_case = ALONGSIDE__RELAY_REPLY__BODY_SESSIONS_CHECKED
                    message.sessions_checked = 1
                case .departuresTaken:
                    message.body_case = ALONGSIDE__RELAY_REPLY__BODY_DEPARTURES_TAKEN
                    message.departures_taken = 1
                case .refused:
                    message.body_case = ALONGSIDE__RELAY_REPLY__BODY_REFUSED
                    message.refused = arena.text("failed")
                }
            }
        )
    }

    /// Reads an answer.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__relay_reply__unpack) {
            message throws(MessageError) in
            let body: Body
            switch message.body_case {
            case ALONGSIDE__RELAY_REPLY__BODY_TAKEN_AWAY:
                guard message.taken_away != 0 else { throw .invalidField("taken_away") }
                body = .takenAway
            case ALONGSIDE__RELAY_REPLY__BODY_SESSIONS_CHECKED:
                guard message.sessions_checked != 0 else { throw .invalidField("sessions_checked") }
                body = .sessionsChecked
            case ALONGSIDE__RELAY_REPLY__BODY_DEPARTURES_TAKEN:
                guard message.departures_taken != 0 else { throw .invalidField("departures_taken") }
                body = .departuresTaken
            case ALONGSIDE__RELAY_REPLY__BODY_REFUSED: body = .refused
            default: throw .unknownBody
            }
            return RelayReply(
                requestID: try uniqueID(message.has_request_id, message.request_id, "request_id"),
                trace: Messages.trace(message.header),
                body: body
            )
        }
    }
}

extension Withdrawal {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__TakeAway__Entry> {
        arena.message(alongside__take_away__entry__init) { wire in
            (wire.has_group_id, wire.group_id) = (1, arena.id(groupID))
            (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
            (wire.has_version, wire.version) = (1, version)
            (wire.has_reason, wire.reason) = (1, arena.text(reason.rawValue))
        }
    }

    fileprivate init(_ wire: Alongside__TakeAway__Entry) throws(MessageError) {
        guard wire.has_version != 0 else { throw .missingField("version") }
        self.init(
            groupID: try uniqueID(wire.has_group_id, wire.group_id, "group_id"),
            accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
            version: wire.version,
            reason: Reason(rawValue: wire.reason.text) ?? .left
        )
    }
}
