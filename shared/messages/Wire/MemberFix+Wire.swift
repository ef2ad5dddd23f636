internal import CAlongsideMessages
internal import CProtobufC
internal import Transit

extension MemberFix {
    func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__MemberFix> {
        arena.message(alongside__member_fix__init) { wire in
            (wire.has_latitude, wire.latitude) = (1, latitude)
            (wire.has_longitude, wire.longitude) = (1, longitude)
            if let accuracyMeters {
                (wire.has_accuracy_meters, wire.accuracy_meters) = (1, accuracyMeters)
            }
            (wire.has_timestamp_ms, wire.timestamp_ms) = (1, timestampMilliseconds)
            (wire.has_received_at_ms, wire.received_at_ms) = (1, receivedAtMilliseconds)
        }
    }

    init(_ wire: Alongside__MemberFix) throws(MessageError) {
        guard wire.has_latitude != 0 else { throw .missingField("latitude") }
        guard wire.has_longitude != 0 else { throw .missingField("longitude") }
        self.init(
            latitude: wire.latitude,
            longitude: wire.longitude,
            accuracyMeters: wire.has_accuracy_meters != 0 ? wire.accuracy_meters : nil,
            timestampMilliseconds: wire.timestamp_ms,
            receivedAtMilliseconds: wire.received_at_ms
        )
    }
}

extension AccountFix {
    func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__StoreFixes__Entry> {
        arena.message(alongside__store_fixes__entry__init) { wire in
            (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
            wire.fix = fix.wire(arena)
        }
    }

    init(_ wire: Alongside__StoreFixes__Entry) throws(MessageError) {
        self.init(
            accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
            fix: try MemberFix(pointee(wire.fix, "fix"))
        )
    }
}
