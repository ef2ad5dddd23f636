internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension GroupsReply: WireMessage {
    /// The protobuf bytes of this answer.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__groups_reply__init) { message in
                message.header = arena.header(trace)
                (message.has_request_id, message.request_id) = (1, arena.id(requestID))
                write(into: &message, arena)
            }
        )
    }

    /// Reads an answer.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__groups_reply__unpack) {
            message throws(MessageError) in
            GroupsReply(
                requestID: try uniqueID(message.has_request_id, message.request_id, "request_id"),
                trace: Messages.trace(message.header),
                body: try Body(message)
            )
        }
    }

    private func write(into message: inout Alongside__GroupsReply, _ arena: WireArena) {
        switch body {
        case .membership(let membership):
            message.body_case = ALONGSIDE__GROUPS_REPLY__BODY_MEMBERSHIP
            message.membership = membership.wire(arena)
        case .views(let views):
            message.body_case = ALONGSIDE__GROUPS_REPLY__BODY_VIEWS
            message.views = arena.message(alongside__group_views__init) { wire in
                (wire.n_groups, wire.groups) = (
                    views.count, arena.messages(views) { $0.wire(arena) }
                )
            }
        case .versions(let versions):
            message.body_case = ALONGSIDE__GROUPS_REPLY__BODY_VERSIONS
            message.versions = arena.message(alongside__group_versions__init) { wire in
                (wire.n_group_id, wire.group_id) = (
                    versions.count, arena.ids(versions.map(\.groupID))
                )
                (wire.n_version, wire.version) = (
                    versions.count, arena.column(versions) { $0.version }
                )
            }
        case .stored:
            message.body_case = ALONGSIDE__GROUPS_REPLY__BODY_STORED
            message.stored = 1
        case .refused(let refusal):
            message.body_case = ALONGSIDE__GROUPS_REPLY__BODY_REFUSED
            message.refused = arena.text(refusal.rawValue)
        }
    }
}

extension GroupsReply.Body {
    fileprivate init(_ message: Alongside__GroupsReply) throws(MessageError) {
        switch message.body_case {
        case ALONGSIDE__GROUPS_REPLY__BODY_MEMBERSHIP:
            self = .membership(MembershipReply(try pointee(message.membership, "membership")))
        case ALONGSIDE__GROUPS_REPLY__BODY_VIEWS:
            let wire = try pointee(message.views, "views")
            self = .views(
                try values(wire.groups, wire.n_groups) { view throws(MessageError) in
                    try GroupView(view)
                }
            )
        case ALONGSIDE__GROUPS_REPLY__BODY_VERSIONS:
            let wire = try pointee(message.versions, "versions")
            let ids = try uniqueIDs(wire.group_id, wire.n_group_id, "group_id")
            guard ids.count == wire.n_version else { throw .invalidField("versions") }
            self = .versions(
                ids.indices.map { GroupVersion(groupID: ids[$0], version: wire.version[$0]) }
            )
        case ALONGSIDE__GROUPS_REPLY__BODY_STORED:
            guard message.stored != 0 else { throw .invalidField("stored") }
            self = .stored
        case ALONGSIDE__GROUPS_REPLY__BODY_REFUSED:
            self = .refused(GroupsReply.Refusal(rawValue: message.refused.text) ?? .failed)
        default: throw .unknownBody
        }
    }
}

extension MembershipReply {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__MembershipReply> {
        arena.message(alongside__membership_reply__init) { wire in
            (wire.has_is_member, wire.is_member) = (1, isMember ? 1 : 0)
            (wire.has_version, wire.version) = (1, version)
            (wire.has_allows_votes, wire.allows_votes) = (1, allowsVotes ? 1 : 0)
        }
    }

    fileprivate init(_ wire: Alongside__MembershipReply) {
        self.init(
            isMember: wire.is_member != 0,
            version: wire.version,
            allowsVotes: wire.allows_votes != 0
        )
    }
}

extension GroupView {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__GroupView> {
        arena.message(alongside__group_view__init) { wire in
            (wire.has_group_id, wire.group_id) = (1, arena.id(groupID))
            (wire.has_version, wire.version) = (1, version)
            (wire.has_allows_votes, wire.allows_votes) = (1, allowsVotes ? 1 : 0)
            (wire.has_shares_while_connected, wire.shares_while_connected) = (
                1, sharesWhileConnected ? 1 : 0
            )
            (wire.n_members, wire.members) = (
                members.count, arena.messages(members) { $0.wire(arena) }
            )
        }
    }

    fileprivate init(_ wire: Alongside__GroupView) throws(MessageError) {
        guard wire.has_version != 0 else { throw .missingField("version") }
        self.init(
            groupID: try uniqueID(wire.has_group_id, wire.group_id, "group_id"),
            version: wire.version,
            allowsVotes: wire.allows_votes != 0,
            sharesWhileConnected: wire.shares_while_connected != 0,
            members: try values(wire.members, wire.n_members) { member throws(MessageError) in
                try Member(member)
            }
        )
    }
}

extension GroupView.Member {
    fileprivate func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__GroupView__Member> {
        arena.message(alongside__group_view__member__init) { wire in
            (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
            (wire.has_is_sharing, wire.is_sharing) = (1, isSharing ? 1 : 0)
            if let sharingSinceMilliseconds {
                (wire.has_sharing_since_ms, wire.sharing_since_ms) = (1, sharingSinceMilliseconds)
            }
            if let lastFix { wire.last_fix = lastFix.wire(arena) }
        }
    }

    fileprivate init(_ wire: Alongside__GroupView__Member) throws(MessageError) {
        var fix: MemberFix?
        if let pointer = wire.last_fix { fix = try MemberFix(pointer.pointee) }
        self.init(
            accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
            // An older release does not say since when; its 0 is before everything.
            sharingSinceMilliseconds: wire.is_sharing != 0 ? wire.sharing_since_ms : nil,
            lastFix: fix
        )
    }
}
