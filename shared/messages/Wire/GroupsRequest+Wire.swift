internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension GroupsRequest: WireMessage {
    /// The protobuf bytes of this request.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__groups_request__init) { message in
                message.header = arena.header(trace)
                (message.has_request_id, message.request_id) = (1, arena.id(requestID))
                write(into: &message, arena)
            }
        )
    }

    /// Reads a request.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__groups_request__unpack) {
            message throws(MessageError) in
            GroupsRequest(
                requestID: try uniqueID(message.has_request_id, message.request_id, "request_id"),
                trace: Messages.trace(message.header),
                body: try Body(message)
            )
        }
    }

    private func write(into message: inout Alongside__GroupsRequest, _ arena: WireArena) {
        switch body {
        case .membership(let accountID, let groupID):
            message.body_case = ALONGSIDE__GROUPS_REQUEST__BODY_MEMBERSHIP
            message.membership = arena.message(alongside__membership_query__init) { wire in
                (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
                (wire.has_group_id, wire.group_id) = (1, arena.id(groupID))
            }
        case .views(let groupIDs, let accountIDs):
            message.body_case = ALONGSIDE__GROUPS_REQUEST__BODY_VIEWS
            message.views = arena.message(alongside__group_view_query__init) { wire in
                (wire.n_group_id, wire.group_id) = (groupIDs.count, arena.ids(groupIDs))
                (wire.n_account_id, wire.account_id) = (accountIDs.count, arena.ids(accountIDs))
            }
        case .sweep(let accountIDs):
            message.body_case = ALONGSIDE__GROUPS_REQUEST__BODY_SWEEP
            message.sweep = arena.message(alongside__group_sweep__init) { wire in
                (wire.n_account_id, wire.account_id) = (accountIDs.count, arena.ids(accountIDs))
            }
        case .storeFixes(let fixes):
            message.body_case = ALONGSIDE__GROUPS_REQUEST__BODY_STORE_FIXES
            message.store_fixes = arena.message(alongside__store_fixes__init) { wire in
                (wire.n_fixes, wire.fixes) = (
                    fixes.count, arena.messages(fixes) { $0.wire(arena) }
                )
            }
        }
    }
}

extension GroupsRequest.Body {
    fileprivate init(_ message: Alongside__GroupsRequest) throws(MessageError) {
        switch message.body_case {
        case ALONGSIDE__GROUPS_REQUEST__BODY_MEMBERSHIP:
            let wire = try pointee(message.membership, "membership")
            self = .membership(
                accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
                groupID: try uniqueID(wire.has_group_id, wire.group_id, "group_id")
            )
        case ALONGSIDE__GROUPS_REQUEST__BODY_VIEWS:
            let wire = try pointee(message.views, "views")
            self = .views(
                groupIDs: try uniqueIDs(wire.group_id, wire.n_group_id, "group_id"),
                accountIDs: try uniqueIDs(wire.account_id, wire.n_account_id, "account_id")
            )
        case ALONGSIDE__GROUPS_REQUEST__BODY_SWEEP:
            let wire = try pointee(message.sweep, "sweep")
            self = .sweep(
                accountIDs: try uniqueIDs(wire.account_id, wire.n_account_id, "account_id")
            )
        case ALONGSIDE__GROUPS_REQUEST__BODY_STORE_FIXES:
            let wire = try pointee(message.store_fixes, "store_fixes")
            self = .storeFixes(
                try values(wire.fixes, wire.n_fixes) { entry throws(MessageError) in
                    try AccountFix(entry)
                }
            )
        default: throw .unknownBody
        }
    }
}

extension WireArena {
    /// The array that a repeated id is.
    func ids(_ ids: [UniqueID]) -> UnsafeMutablePointer<ProtobufCBinaryData> {
        column(ids) { id($0) }
    }
}

/// Reads repeated ids.
func uniqueIDs(
    _ pointer: UnsafeMutablePointer<ProtobufCBinaryData>?,
    _ count: Int,
    _ name: String
) throws(MessageError) -> [UniqueID] {
    guard let pointer else { return [] }
    var ids: [UniqueID] = []
    ids.reserveCapacity(count)
    for index in 0..<count { ids.append(try uniqueID(1, pointer[index], name)) }
    return ids
}
