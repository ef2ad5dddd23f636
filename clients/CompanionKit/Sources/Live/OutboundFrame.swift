internal import Foundation

/// One frame to the relay; none of them names its sender, whom the socket knows.
enum OutboundFrame: Sendable, Equatable {
    case join(GroupID)
    /// A position belongs to its sender; for which groups it is, the relay knows (seed section 6.2).
    case location(LocationReading)
    case voiceStart(GroupID)
    case voiceEnd(GroupID)
    case voice(GroupID, [UInt8])
    case spinOffer(GroupID, [SpinCandidate])
    case spinVote(GroupID, Int)
    /// A fresh token, so that the socket outlives the one it was opened with.
    case authenticate(String)

    /// The frame as the wire has it; what is unknown, or no number, is left out, never null.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = try? encoder.encode(JSONValue.object(members))
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private var members: [String: JSONValue] {
        switch self {
        case .join(let group):
            Self.object("join", group)
        case .location(let reading):
            Self.location(reading)
        case .voiceStart(let group):
            Self.object("ptt_start", group)
        case .voiceEnd(let group):
            Self.object("ptt_end", group)
        case .voice(let group, let bytes):
            Self.object("ptt_audio", group, ["chunk": .text(Data(bytes).base64EncodedString())])
        case .spinOffer(let group, let candidates):
            Self.object("spin_offer", group, ["candidates": .list(candidates.map(Self.candidate))])
        case .spinVote(let group, let index):
            Self.object("spin_vote", group, ["index": .integer(Int64(index))])
        case .authenticate(let token):
            ["type": .text("auth"), "token": .text(token)]
        }
    }

    private static func object(
        _ type: String,
        _ group: GroupID,
        _ more: [String: JSONValue] = [:]
    ) -> [String: JSONValue] {
        more.merging(["type": .text(type), "groupId": .text(group.description)]) { $1 }
    }

    private static func location(_ reading: LocationReading) -> [String: JSONValue] {
        var members = coordinate(reading.coordinate)
        members["type"] = .text("location")
        members["ts"] = .integer(reading.measuredAt.milliseconds)
        members["accuracyM"] = number(reading.accuracyMeters)
        members["headingDeg"] = number(reading.headingDegrees)
        members["speedKmh"] = number(reading.speedKilometersPerHour)
        return members
    }

    private static func candidate(_ candidate: SpinCandidate) -> JSONValue {
        var members = coordinate(candidate.coordinate)
        members["distanceM"] = number(candidate.distanceMeters)
        members["durationS"] = number(candidate.durationSeconds)
        members["name"] = candidate.name.map { .text($0) }
        return .object(members)
    }

    private static func number(_ value: Double?) -> JSONValue? {
        value.flatMap { $0.isFinite ? .number($0) : nil }
    }

    private static func coordinate(_ coordinate: Coordinate) -> [String: JSONValue] {
        ["lat": .number(coordinate.latitude), "lon": .number(coordinate.longitude)]
    }
}
