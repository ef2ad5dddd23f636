public import Messages
public import Transit
internal import Web

/// What a client says: one JSON object with a `type` (spec 2.2).
public enum ClientFrame: Equatable, Sendable {
    /// Show me what happens in this group.
    case join(UniqueID)
    /// Here I am.
    case location(Location)
    /// Destinations for a convoy.
    case offer(UniqueID, [RelayedVote.Candidate])
    /// A vote for one of them.
    case vote(UniqueID, Int)
    /// A fresh token, so that the socket may stay.
    case auth(String)

    /// Where a client is.
    public struct Location: Equatable, Sendable {
        /// WGS-84 degrees.
        public var latitude, longitude: Double
        /// Metres; nil when unknown or impossible.
        public var accuracyMeters: Double?
        /// Degrees clockwise from north; nil when unknown or impossible.
        public var headingDegrees: Double?
        /// Kilometres an hour; nil when unknown or impossible.
        public var speedKilometersPerHour: Double?
        /// The sender's clock, POSIX milliseconds; nil when it said none.
        public var timestampMilliseconds: Int64?
    }

    /// What bytes came to.
    public enum Reading: Equatable, Sendable {
        /// No JSON object with a `type` that is a text: dropped, and costs nothing.
        case malformed
        /// An unknown type, or a frame against its rules: dropped, and costs a token of the budget.
        case refused(Refusal)
        /// A frame.
        case frame(ClientFrame)
    }

    /// Why a well-formed frame is dropped.
    public enum Refusal: String, CaseIterable, Sendable {
        /// A type that nobody knows, voice among them.
        case unknownType = "unknown_type"
        /// A member is missing, of another type or out of range.
        case invalid
    }

    /// Reads a text message.
    ///
    /// Strict JSON, at most 64 levels deep; keys are case-sensitive and unknown ones are passed over. No
    /// key that counts may stand twice.
    ///
    /// - Parameter bytes: The message.
    /// - Returns: What it is; never traps, whatever the bytes.
    public static func read(_ bytes: [UInt8]) -> Reading {
        guard let fields = try? FrameFields(bytes), case .text(let type) = fields.type else {
            return .malformed
        }
        guard let known = FrameType(rawValue: type) else { return .refused(.unknownType) }
        guard let frame = ClientFrame(known, fields) else { return .refused(.invalid) }
        return .frame(frame)
    }

    private init?(_ type: FrameType, _ fields: FrameFields) {
        switch type {
        case .join:
            guard let group = fields.groupID.id else { return nil }
            self = .join(group)
        case .location:
            guard let location = Location(fields) else { return nil }
            self = .location(location)
        case .spinOffer:
            guard let group = fields.groupID.id, let candidates = fields.candidates else {
                return nil
            }
            self = .offer(group, candidates)
        case .spinVote:
            guard let group = fields.groupID.id, case .number(_, let index?) = fields.index,
                RelayLimits.voteIndices.contains(Int(clamping: index))
            else { return nil }
            self = .vote(group, Int(index))
        case .auth:
            guard case .text(let token) = fields.token else { return nil }
            self = .auth(token)
        }
    }

    /// The types that clients may send.
    enum FrameType: String, CaseIterable {
        case join
        case location
        case spinOffer = "spin_offer"
        case spinVote = "spin_vote"
        case auth
    }
}

extension ClientFrame.Location {
    fileprivate init?(_ fields: FrameFields) {
        guard case .number(let latitude, _) = fields.latitude,
            case .number(let longitude, _) = fields.longitude,
            RelayLimits.latitudes.contains(latitude), RelayLimits.longitudes.contains(longitude)
        else { return nil }
        self.init(
            latitude: latitude,
            longitude: longitude,
            accuracyMeters: fields.accuracy.number(in: RelayLimits.accuracies),
            headingDegrees: fields.heading.number(in: RelayLimits.headings),
            speedKilometersPerHour: fields.speed.number(in: RelayLimits.speeds),
            timestampMilliseconds: fields.timestamp.positiveMilliseconds
        )
    }
}
