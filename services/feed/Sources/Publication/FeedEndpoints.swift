internal import Telemetry
internal import Web

/// What trip planners ask for over HTTP; answered at once, from bytes that are already there.
struct FeedEndpoints: Sendable {
    let board: FeedBoard
    /// Everyone, or holders of an API key (`FEED_AUTH_ENABLED`).
    var access = Access.anyone
    /// Whether agencies' entities are published (`FEED_INCLUDE_AGENCY`).
    var includesAgency = false

    /// Every endpoint, with who may call it.
    var all: [Endpoint] { FeedKind.allCases.map(endpoint) }

    private func endpoint(_ kind: FeedKind) -> Endpoint {
        Endpoint(.get, "/gtfs-rt/\(kind.rawValue)", access: access, logLevel: .debug) { request in
            let source = try self.source(request)
            // Any other value is the protobuf form, as readers of the driver feed are used to (spec 1.9).
            let format = FeedFormat(rawValue: request.query.first("format") ?? "") ?? .protobuf
            return try board.feedForReaders(kind).content(source, format).response(to: request)
        }
    }

    private func source(_ request: HTTPRequest) throws(HTTPError) -> FeedSource {
        try FeedSource(asked: request.query.first("source"), includesAgency: includesAgency)
    }
}

extension FeedSource {
    /// Reads a reader's wish; none is all.
    ///
    /// - Parameters:
    ///   - text: The parameter.
    ///   - includesAgency: Whether agencies' entities are published, and so can be asked for.
    /// - Throws: 400 for anything else.
    init(asked text: String?, includesAgency: Bool) throws(HTTPError) {
        guard let text, !text.isEmpty else {
            self = .all
            return
        }
        guard let source = FeedSource(rawValue: text), source != .agency || includesAgency else {
            throw .badRequest("invalid source", code: "source.invalid")
        }
        self = source
    }
}
