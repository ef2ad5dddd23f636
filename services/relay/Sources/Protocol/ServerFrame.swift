internal import Messages
internal import Transit
internal import Web

/// What a relay says to clients, as whole WebSocket frames (spec 2.3); absent members are left out.
enum ServerFrame {
    /// The text of every refused join, whether the group is unknown or not the caller's.
    static let notMember = "group not found"
    /// The text of a join that could not be checked.
    static let cannotCheck = "groups cannot be checked now, try again"
    /// The text of a token that does not count.
    static let tokenRefused = "token refused"

    static func joined(_ group: UniqueID) -> [UInt8] {
        object("joined") { $0.member("groupId", group.description) }
    }

    static func error(_ message: String, group: UniqueID? = nil) -> [UInt8] {
        object("error") { json in
            json.member("message", message)
            if let group { json.member("groupId", group.description) }
        }
    }

    static func auth(expiresAtMilliseconds: Int64) -> [UInt8] {
        object("auth") { $0.member("expiresAt", expiresAtMilliseconds) }
    }

    static func left(_ account: UniqueID, group: UniqueID) -> [UInt8] {
        object("left") { json in
            json.member("user", account.description)
            json.member("groupId", group.description)
        }
    }

    static func vote(_ vote: RelayedVote) -> [UInt8] {
        switch vote.ballot {
        case .vote(let index):
            object("spin_vote") { json in
                json.member("groupId", vote.groupID.description)
                json.member("user", vote.accountID.description)
                json.member("index", index)
            }
        case .offer(let candidates):
            object("spin_offer") { json in
                json.member("groupId", vote.groupID.description)
                json.member("user", vote.accountID.description)
                json.key("candidates")
                json.beginArray()
                for candidate in candidates { append(candidate, to: &json) }
                json.endArray()
            }
        }
    }

    static func placeEvent(_ event: PlaceEventNotice) -> [UInt8] {
        object("place_event") { json in
            json.member("groupId", event.groupID.description)
            json.member("user", event.accountID.description)
            json.member("placeId", event.placeID.description)
            json.member("placeName", event.placeName)
            json.member("kind", event.kind)
            json.member("ts", event.timestampMilliseconds)
        }
    }

    /// Where others are, each row encoded before.
    static func positions(_ rows: some Collection<[UInt8]>) -> [UInt8] {
        let head = "{\"type\":\"positions\",\"peers\":[".utf8
        let commas = max(0, rows.count - 1)
        let count = rows.reduce(head.count + commas + 2) { $0 + $1.count }
        return WebSocketFrame.text(bytes: count) { frame in
            frame += head
            var isFirst = true
            for row in rows {
                if !isFirst { frame.append(UInt8(ascii: ",")) }
                isFirst = false
                frame += row
            }
            frame += "]}".utf8
        }
    }

    private static func append(_ candidate: RelayedVote.Candidate, to json: inout JSONWriter) {
        json.beginObject()
        json.member("lat", candidate.latitude)
        json.member("lon", candidate.longitude)
        if let meters = candidate.distanceMeters { json.member("distanceM", meters) }
        if let seconds = candidate.durationSeconds { json.member("durationS", seconds) }
        if let name = candidate.name { json.member("name", name) }
        json.endObject()
    }

    private static func object(_ type: String, _ fill: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("type", type)
        fill(&json)
        json.endObject()
        return WebSocketFrame.text(json.bytes)
    }
}
