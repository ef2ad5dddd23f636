internal import Foundation

/// A place to ride to, on which a convoy votes.
public struct SpinCandidate: Sendable, Equatable {
    /// Where.
    public var coordinate: Coordinate
    /// Metres to ride, as far as its sender knows.
    public var distanceMeters: Double?
    /// Seconds to ride, as far as its sender knows.
    public var durationSeconds: Double?
    /// At most 80 characters.
    public var name: String?

    /// Makes a candidate.
    public init(
        coordinate: Coordinate,
        distanceMeters: Double? = nil,
        durationSeconds: Double? = nil,
        name: String? = nil
    ) {
        self.coordinate = coordinate
        self.distanceMeters = distanceMeters
        self.durationSeconds = durationSeconds
        self.name = name
    }
}

/// A piece of someone's voice.
public struct VoiceChunk: Sendable, Equatable {
    /// Who speaks.
    public var riderID: AccountID
    /// The sound as it was sent.
    public var bytes: [UInt8]
}

/// An arrival or departure as it happens.
public struct LivePlaceEvent: Sendable, Equatable {
    /// The circle.
    public var circleID: GroupID
    /// Who moved.
    public var riderID: AccountID
    /// The place.
    public var placeID: PlaceID
    /// Its name, possibly blank.
    public var placeName: String
    /// What happened.
    public var kind: CrossingKind
    /// When, in POSIX milliseconds by the clock of the phone that told it.
    public var timestampMilliseconds: Int64
}

/// One frame from the relay.
///
/// What a newer relay sends beyond these, and what is malformed, is no frame at all: it is dropped
/// and the connection lives on.
enum RelayFrame: Sendable, Equatable {
    /// A position of a peer before its arrival is known.
    struct Peer: Sendable, Equatable {
        /// What a peer without a usable ttl gets: ten rounds of a convoy.
        static let fallbackTTLSeconds: Int64 = 20
        /// No peer is shown for longer than this without news.
        static let longestTTLSeconds: Int64 = 3600

        var riderID: AccountID
        var coordinate: Coordinate
        var headingDegrees: Double?
        var speedKilometersPerHour: Double?
        var timestampMilliseconds: Int64
        var ttlSeconds: Int64
    }

    case joined(GroupID?)
    case left(AccountID, GroupID?)
    case positions([Peer])
    case voiceStart(AccountID)
    case voiceEnd(AccountID)
    case voice(VoiceChunk)
    case placeEvent(LivePlaceEvent)
    case spinOffer(AccountID?, GroupID?, [SpinCandidate])
    case spinVote(AccountID, GroupID?, Int)
    case authenticated(expiresAtMilliseconds: Int64)
    case error(String, GroupID?)

    /// Reads a frame; nil for what is none.
    init?(_ text: String) {
        guard
            let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)),
            let object = value.object, let type = object["type"]?.text,
            let frame = Self.read(type, FrameBody(object))
        else { return nil }
        self = frame
    }

    private static func read(_ type: String, _ body: FrameBody) -> RelayFrame? {
        switch type {
        case "joined": .joined(body.group)
        case "left": body.user.map { .left($0, body.group) }
        case "positions": body["peers"]?.list.map { .positions($0.compactMap(Peer.init)) }
        case "ptt_start": body.user.map { .voiceStart($0) }
        case "ptt_end": body.user.map { .voiceEnd($0) }
        case "ptt_audio": VoiceChunk(body).map { .voice($0) }
        case "place_event": LivePlaceEvent(body).map { .placeEvent($0) }
        case "spin_offer": offer(body)
        case "spin_vote": vote(body)
        case "auth":
            body["expiresAt"]?.integer.map { .authenticated(expiresAtMilliseconds: $0) }
        case "error": .error(body["message"]?.filledText ?? "", body.group)
        default: nil
        }
    }

    private static func offer(_ body: FrameBody) -> RelayFrame? {
        // The relay voids an offer with a bad candidate; what came through is taken as far as it goes.
        let candidates = body["candidates"]?.list?.compactMap(SpinCandidate.init) ?? []
        guard !candidates.isEmpty else { return nil }
        return .spinOffer(body.user, body.group, Array(candidates.prefix(SpinRound.candidateLimit)))
    }

    private static func vote(_ body: FrameBody) -> RelayFrame? {
        guard let user = body.user, let index = body["index"]?.integer,
            0..<Int64(SpinRound.candidateLimit) ~= index
        else { return nil }
        return .spinVote(user, body.group, Int(index))
    }
}

/// The members of a frame under the names that several frames share.
private struct FrameBody {
    private let members: [String: JSONValue]

    init(_ members: [String: JSONValue]) { self.members = members }

    subscript(name: String) -> JSONValue? { members[name] }

    var user: AccountID? { members["user"]?.text.flatMap { AccountID($0) } }
    var group: GroupID? { members["groupId"]?.text.flatMap { GroupID($0) } }

    var coordinate: Coordinate? {
        guard let latitude = members["lat"]?.number, let longitude = members["lon"]?.number else {
            return nil
        }
        let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        return coordinate.isOnEarth ? coordinate : nil
    }
}

extension RelayFrame.Peer {
    fileprivate init?(_ value: JSONValue) {
        guard let object = value.object, let id = object["u"]?.text.flatMap({ AccountID($0) }),
            let coordinate = FrameBody(object).coordinate
        else { return nil }
        riderID = id
        self.coordinate = coordinate
        headingDegrees = object["h"]?.number
        speedKilometersPerHour = object["s"]?.number
        timestampMilliseconds = object["ts"]?.integer ?? 0
        let ttl = object["ttl"]?.integer ?? 0
        ttlSeconds = ttl > 0 ? min(ttl, Self.longestTTLSeconds) : Self.fallbackTTLSeconds
    }
}

extension SpinCandidate {
    fileprivate init?(_ value: JSONValue) {
        guard let object = value.object, let coordinate = FrameBody(object).coordinate else {
            return nil
        }
        self.init(
            coordinate: coordinate,
            distanceMeters: object["distanceM"]?.number,
            durationSeconds: object["durationS"]?.number,
            name: object["name"]?.filledText
        )
    }
}

extension VoiceChunk {
    fileprivate init?(_ body: FrameBody) {
        guard let user = body.user, let text = body["chunk"]?.filledText,
            let data = Data(base64Encoded: text)
        else { return nil }
        self.init(riderID: user, bytes: Array(data))
    }
}

extension LivePlaceEvent {
    fileprivate init?(_ body: FrameBody) {
        guard let circle = body.group, let user = body.user,
            let place = body["placeId"]?.text.flatMap({ PlaceID($0) }),
            let kind = body["kind"]?.text.flatMap({ CrossingKind($0) }),
            let timestamp = body["ts"]?.integer
        else { return nil }
        self.init(
            circleID: circle,
            riderID: user,
            placeID: place,
            placeName: body["placeName"]?.text ?? "",
            kind: kind,
            timestampMilliseconds: timestamp
        )
    }
}
