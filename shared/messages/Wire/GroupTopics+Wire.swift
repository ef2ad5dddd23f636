internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension GroupChange: WireMessage {
    /// The protobuf bytes of this news.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__group_change__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_group_id, wire.group_id) = (1, arena.id(groupID))
                (wire.has_version, wire.version) = (1, version)
                (wire.has_is_gone, wire.is_gone) = (1, isGone ? 1 : 0)
            }
        )
    }

    /// Reads the news.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__group_change__unpack) {
            wire throws(MessageError) in
            guard wire.has_version != 0 else { throw .missingField("version") }
            return GroupChange(
                trace: Messages.trace(wire.header),
                groupID: try uniqueID(wire.has_group_id, wire.group_id, "group_id"),
                version: wire.version,
                isGone: wire.is_gone != 0
            )
        }
    }
}

extension LiveFix: WireMessage {
    /// The protobuf bytes of this fix.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__live_fix__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
                wire.fix = fix.wire(arena)
                (wire.has_ttl_seconds, wire.ttl_seconds) = (1, UInt32(wire: ttlSeconds))
                (wire.n_targets, wire.targets) = (
                    targets.count, arena.messages(targets) { $0.wire(arena) }
                )
                wire.session = session?.wire(arena)
            }
        )
    }

    /// Reads a fix.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__live_fix__unpack) { wire throws(MessageError) in
            LiveFix(
                trace: Messages.trace(wire.header),
                accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
                fix: try MemberFix(pointee(wire.fix, "fix")),
                ttlSeconds: Int(wire.ttl_seconds),
                targets: try values(wire.targets, wire.n_targets) {
                    target throws(MessageError) in
                    try Target(target)
                },
                session: try wire.session.map { mark throws(MessageError) in
                    try SessionMark(mark.pointee)
                }
            )
        }
    }
}

extension LiveFix.Target {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__LiveFix__Target> {
        arena.message(alongside__live_fix__target__init) { wire in
            (wire.has_group_id, wire.group_id) = (1, arena.id(groupID))
            (wire.has_version, wire.version) = (1, version)
            (wire.has_shares_while_connected, wire.shares_while_connected) = (
                1, sharesWhileConnected ? 1 : 0
            )
        }
    }

    fileprivate init(_ wire: Alongside__LiveFix__Target) throws(MessageError) {
        self.init(
            groupID: try uniqueID(wire.has_group_id, wire.group_id, "group_id"),
            version: wire.version,
            sharesWhileConnected: wire.shares_while_connected != 0
        )
    }
}

extension PlaceEventNotice: WireMessage {
    /// The protobuf bytes of this notice.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__place_event_notice__init) { wire in
                wire.header = arena.header(trace)
                (wire.has_group_id, wire.group_id) = (1, arena.id(groupID))
                (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
                (wire.has_place_id, wire.place_id) = (1, arena.id(placeID))
                (wire.has_place_name, wire.place_name) = (1, arena.text(placeName))
                (wire.has_kind, wire.kind) = (1, arena.text(kind))
                (wire.has_timestamp_ms, wire.timestamp_ms) = (1, timestampMilliseconds)
                (wire.has_sequence, wire.sequence) = (1, sequence)
            }
        )
    }

    /// Reads a notice.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__place_event_notice__unpack) {
            wire throws(MessageError) in
            PlaceEventNotice(
                trace: Messages.trace(wire.header),
                groupID: try uniqueID(wire.has_group_id, wire.group_id, "group_id"),
                accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
                placeID: try uniqueID(wire.has_place_id, wire.place_id, "place_id"),
                placeName: wire.place_name.text,
                kind: wire.kind.text,
                timestampMilliseconds: wire.timestamp_ms,
                sequence: wire.sequence
            )
        }
    }
}
