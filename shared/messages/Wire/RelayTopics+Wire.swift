internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension RelayPresence: WireMessage {
    /// The protobuf bytes of this part.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__relay_presence__init) { wire in
                wire.header = arena.header(trace)
                (wire.n_account_id, wire.account_id) = (
                    entries.count, arena.ids(entries.map(\.accountID))
                )
                (wire.n_claim, wire.claim) = (
                    entries.count, arena.column(entries, { $0.claim })
                )
                let sessions = entries.compactMap(\.session)
                // Of all or of none.
                if sessions.count == entries.count {
                    (wire.n_session, wire.session) = (
                        sessions.count, arena.messages(sessions) { $0.wire(arena) }
                    )
                }
            }
        )
    }

    /// Reads a part.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__relay_presence__unpack) {
            wire throws(MessageError) in
            let accounts = try uniqueIDs(wire.account_id, wire.n_account_id, "account_id")
            guard accounts.count == wire.n_claim else { throw .invalidField("claim") }
            let sessions = try values(wire.session, wire.n_session) {
                mark throws(MessageError) in
                try SessionMark(mark)
            }
            guard sessions.isEmpty || sessions.count == accounts.count else {
                throw .invalidField("session")
            }
            return RelayPresence(
                trace: Messages.trace(wire.header),
                entries: accounts.enumerated().map { index, account in
                    Entry(
                        accountID: account,
                        claim: wire.claim[index],
                        session: sessions.isEmpty ? nil : sessions[index]
                    )
                }
            )
        }
    }
}

extension RelayNews: WireMessage {
    /// The protobuf bytes of this news.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        return arena.pack(
            arena.message(alongside__relay_news__init) { wire in
                wire.header = arena.header(trace)
                switch body {
                case .fix(let fix):
                    wire.body_case = ALONGSIDE__RELAY_NEWS__BODY_FIX
                    wire.fix = fix.wire(arena)
                case .vote(let vote):
                    wire.body_case = ALONGSIDE__RELAY_NEWS__BODY_VOTE
                    wire.vote = vote.wire(arena)
                case .departure(let departure):
                    wire.body_case = ALONGSIDE__RELAY_NEWS__BODY_DEPARTURE
                    wire.departure = departure.wire(arena)
                }
            }
        )
    }

    /// Reads news.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__relay_news__unpack) { wire throws(MessageError) in
            RelayNews(trace: Messages.trace(wire.header), body: try Body(wire))
        }
    }
}

extension RelayNews.Body {
    fileprivate init(_ wire: Alongside__RelayNews) throws(MessageError) {
        switch wire.body_case {
        case ALONGSIDE__RELAY_NEWS__BODY_FIX:
            self = .fix(try RelayedFix(pointee(wire.fix, "fix")))
        case ALONGSIDE__RELAY_NEWS__BODY_VOTE:
            self = .vote(try RelayedVote(pointee(wire.vote, "vote")))
        case ALONGSIDE__RELAY_NEWS__BODY_DEPARTURE:
            self = .departure(try RelayedDeparture(pointee(wire.departure, "departure")))
        default: throw .unknownBody
        }
    }
}

extension RelayedFix {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__RelayedFix> {
        arena.message(alongside__relayed_fix__init) { wire in
            (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
            (wire.has_latitude, wire.latitude) = (1, latitude)
            (wire.has_longitude, wire.longitude) = (1, longitude)
            if let headingDegrees {
                (wire.has_heading_degrees, wire.heading_degrees) = (1, headingDegrees)
            }
            if let speedKilometersPerHour {
                (wire.has_speed_kmh, wire.speed_kmh) = (1, speedKilometersPerHour)
            }
            (wire.has_timestamp_ms, wire.timestamp_ms) = (1, timestampMilliseconds)
            (wire.has_received_at_ms, wire.received_at_ms) = (1, receivedAtMilliseconds)
            (wire.has_ttl_seconds, wire.ttl_seconds) = (1, UInt32(wire: ttlSeconds))
            (wire.has_is_known, wire.is_known) = (1, isKnown ? 1 : 0)
            (wire.n_group_id, wire.group_id) = (groups.count, arena.ids(groups.map(\.groupID)))
            (wire.n_version, wire.version) = (groups.count, arena.column(groups, { $0.version }))
            if claim > 0 { (wire.has_claim, wire.claim) = (1, claim) }
        }
    }

    fileprivate init(_ wire: Alongside__RelayedFix) throws(MessageError) {
        guard wire.has_latitude != 0 else { throw .missingField("latitude") }
        guard wire.has_longitude != 0 else { throw .missingField("longitude") }
        let groups = try uniqueIDs(wire.group_id, wire.n_group_id, "group_id")
        guard groups.count == wire.n_version else { throw .invalidField("version") }
        self.init(
            accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
            latitude: wire.latitude,
            longitude: wire.longitude,
            headingDegrees: wire.has_heading_degrees != 0 ? wire.heading_degrees : nil,
            speedKilometersPerHour: wire.has_speed_kmh != 0 ? wire.speed_kmh : nil,
            timestampMilliseconds: wire.timestamp_ms,
            receivedAtMilliseconds: wire.received_at_ms,
            ttlSeconds: Int(wire.ttl_seconds),
            claim: wire.claim,
            isKnown: wire.is_known != 0,
            groups: groups.enumerated().map { index, group in
                GroupVersion(groupID: group, version: wire.version[index])
            }
        )
    }
}

extension RelayedVote {
    fileprivate func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__RelayedVote> {
        arena.message(alongside__relayed_vote__init) { wire in
            (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
            (wire.has_group_id, wire.group_id) = (1, arena.id(groupID))
            (wire.has_version, wire.version) = (1, version)
            (wire.has_claim, wire.claim) = (1, claim)
            switch ballot {
            case .vote(let index): (wire.has_index, wire.index) = (1, UInt32(wire: index))
            case .offer(let candidates):
                (wire.n_candidates, wire.candidates) = (
                    candidates.count, arena.messages(candidates) { $0.wire(arena) }
                )
            }
        }
    }

    fileprivate init(_ wire: Alongside__RelayedVote) throws(MessageError) {
        let ballot: Ballot
        if wire.n_candidates > 0 {
            ballot = .offer(
                try values(wire.candidates, wire.n_candidates) { entry throws(MessageError) in
                    try Candidate(entry)
                }
            )
        } else {
            guard wire.has_index != 0 else { throw .missingField("index") }
            ballot = .vote(Int(wire.index))
        }
        self.init(
            accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
            groupID: try uniqueID(wire.has_group_id, wire.group_id, "group_id"),
            version: wire.version,
            claim: wire.claim,
            ballot: ballot
        )
    }
}

extension RelayedVote.Candidate {
    fileprivate func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__RelayedVote__Candidate> {
        arena.message(alongside__relayed_vote__candidate__init) { wire in
            (wire.has_latitude, wire.latitude) = (1, latitude)
            (wire.has_longitude, wire.longitude) = (1, longitude)
            if let distanceMeters {
                (wire.has_distance_meters, wire.distance_meters) = (1, distanceMeters)
            }
            if let durationSeconds {
                (wire.has_duration_seconds, wire.duration_seconds) = (1, durationSeconds)
            }
            if let name { (wire.has_name, wire.name) = (1, arena.text(name)) }
        }
    }

    fileprivate init(_ wire: Alongside__RelayedVote__Candidate) throws(MessageError) {
        guard wire.has_latitude != 0 else { throw .missingField("latitude") }
        guard wire.has_longitude != 0 else { throw .missingField("longitude") }
        self.init(
            latitude: wire.latitude,
            longitude: wire.longitude,
            distanceMeters: wire.has_distance_meters != 0 ? wire.distance_meters : nil,
            durationSeconds: wire.has_duration_seconds != 0 ? wire.duration_seconds : nil,
            name: wire.has_name != 0 ? wire.name.text : nil
        )
    }
}

extension RelayedDeparture {
    func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__RelayedDeparture> {
        arena.message(alongside__relayed_departure__init) { wire in
            (wire.has_account_id, wire.account_id) = (1, arena.id(accountID))
            (wire.has_claim, wire.claim) = (1, claim)
            (wire.n_group_id, wire.group_id) = (groupIDs.count, arena.ids(groupIDs))
            (wire.n_unjoined_group_id, wire.unjoined_group_id) = (
                unjoinedGroupIDs.count, arena.ids(unjoinedGroupIDs)
            )
            (wire.has_has_session_ended, wire.has_session_ended) = (1, hasSessionEnded ? 1 : 0)
        }
    }

    init(_ wire: Alongside__RelayedDeparture) throws(MessageError) {
        self.init(
            accountID: try uniqueID(wire.has_account_id, wire.account_id, "account_id"),
            claim: wire.claim,
            groupIDs: try uniqueIDs(wire.group_id, wire.n_group_id, "group_id"),
            unjoinedGroupIDs: try uniqueIDs(
                wire.unjoined_group_id,
                wire.n_unjoined_group_id,
                "unjoined_group_id"
            ),
            hasSessionEnded: wire.has_session_ended != 0
        )
    }
}
