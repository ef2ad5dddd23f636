internal import Messages
internal import Telemetry
internal import Transit
internal import Web

/// `GET /feeds.json`: which feeds there are, for those who list feeds (spec 0).
struct FeedCatalogue: Sendable {
    /// Seconds after which a reader should ask again: the feed is built each second.
    static let ttl = 1

    let board: FeedBoard
    /// The name of the agency in the schedule in use.
    let agency: @Sendable () -> String
    /// Where the public reaches us, without a slash at the end; empty for addresses without a host.
    let publicURL: String
    /// The licence of the feeds; empty when none is configured.
    let licence: String

    /// The endpoint; anyone may know which feeds there are.
    var endpoint: Endpoint {
        Endpoint(.get, "/feeds.json", access: .anyone, logLevel: .debug) { _ in
            .json(bytes: document())
        }
    }

    private func document() -> [UInt8] {
        let newest = FeedKind.allCases.map { board.feed($0).built.headerTimestamp }.max() ?? 0
        let agency = agency()
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.member("last_updated", newest)
        json.member("ttl", Self.ttl)
        json.key("feeds")
        json.beginArray()
        for kind in FeedKind.allCases {
            for format in FeedFormat.allCases {
                let query = format == .protobuf ? "" : "?format=\(format.rawValue)"
                json.beginObject()
                json.member("name", (agency.isEmpty ? "" : agency + " ") + kind.title)
                json.member("url", "\(publicURL)/gtfs-rt/\(kind.rawValue)\(query)")
                json.member("format", format == .protobuf ? "gtfs-rt" : format.rawValue)
                json.member("ttl", Self.ttl)
                json.member("licence", licence)
                json.endObject()
            }
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

extension FeedKind {
    /// What people call it.
    fileprivate var title: String {
        switch self {
        case .vehiclePositions: "vehicle positions"
        case .tripUpdates: "trip updates"
        }
    }
}
