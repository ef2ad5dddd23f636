internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension AccountQuery: WireMessage {
    /// The protobuf bytes of this question.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__account_query__init) { wire in
                wire.header = arena.header(trace)
                switch body {
                case .handle(let handle):
                    wire.body_case = ALONGSIDE__ACCOUNT_QUERY__BODY_HANDLE
                    wire.handle = arena.message(alongside__account_query__handle__init) {
                        ($0.has_handle, $0.handle) = (1, arena.text(handle))
                    }
                case .ids(let ids):
                    wire.body_case = ALONGSIDE__ACCOUNT_QUERY__BODY_IDS
                    wire.ids = arena.message(alongside__account_query__ids__init) {
                        ($0.n_id, $0.id) = (ids.count, arena.column(ids) { arena.id($0) })
                    }
                }
            }
        )
    }

    /// Reads a question.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__account_query__unpack) {
            wire throws(MessageError) in
            AccountQuery(trace: Messages.trace(wire.header), body: try Body(wire))
        }
    }
}

extension AccountQuery.Body {
    fileprivate init(_ wire: Alongside__AccountQuery) throws(MessageError) {
        switch wire.body_case {
        case ALONGSIDE__ACCOUNT_QUERY__BODY_HANDLE:
            self = .handle(try pointee(wire.handle, "handle").handle.text)
        case ALONGSIDE__ACCOUNT_QUERY__BODY_IDS:
            let wire = try pointee(wire.ids, "ids")
            var ids: [UniqueID] = []
            ids.reserveCapacity(wire.n_id)
            for index in 0..<wire.n_id {
                guard let data = wire.id?[index] else { throw .missingField("id") }
                ids.append(try uniqueID(1, data, "id"))
            }
            self = .ids(ids)
        default: throw .unknownBody
        }
    }
}

extension AccountAnswer: WireMessage {
    /// The protobuf bytes of this answer.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__account_answer__init) { wire in
                wire.header = arena.header(trace)
                switch body {
                case .accounts(let accounts):
                    wire.body_case = ALONGSIDE__ACCOUNT_ANSWER__BODY_ACCOUNTS
                    wire.accounts = arena.message(alongside__account_answer__accounts__init) {
                        ($0.n_accounts, $0.accounts) = (
                            accounts.count, arena.messages(accounts) { $0.wire(arena) }
                        )
                    }
                case .unavailable:
                    wire.body_case = ALONGSIDE__ACCOUNT_ANSWER__BODY_UNAVAILABLE
                    wire.unavailable = 1
                }
            }
        )
    }

    /// Reads an answer.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__account_answer__unpack) {
            wire throws(MessageError) in
            AccountAnswer(trace: Messages.trace(wire.header), body: try Body(wire))
        }
    }
}

extension AccountAnswer.Body {
    fileprivate init(_ wire: Alongside__AccountAnswer) throws(MessageError) {
        switch wire.body_case {
        case ALONGSIDE__ACCOUNT_ANSWER__BODY_ACCOUNTS:
            let wire = try pointee(wire.accounts, "accounts")
            self = .accounts(
                try values(wire.accounts, wire.n_accounts) { account throws(MessageError) in
                    try AccountAnswer.Account(account)
                }
            )
        case ALONGSIDE__ACCOUNT_ANSWER__BODY_UNAVAILABLE: self = .unavailable
        default: throw .unknownBody
        }
    }
}

extension AccountAnswer.Account {
    fileprivate func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__AccountAnswer__Account> {
        arena.message(alongside__account_answer__account__init) { wire in
            (wire.has_id, wire.id) = (1, arena.id(id))
            if let handle { (wire.has_handle, wire.handle) = (1, arena.text(handle)) }
            (wire.has_name, wire.name) = (1, arena.text(name))
        }
    }

    fileprivate init(_ wire: Alongside__AccountAnswer__Account) throws(MessageError) {
        self.init(
            id: try uniqueID(wire.has_id, wire.id, "id"),
            handle: wire.has_handle != 0 ? wire.handle.text : nil,
            name: wire.name.text
        )
    }
}
