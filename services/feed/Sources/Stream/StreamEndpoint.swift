internal import Telemetry
internal import Web

/// `GET /gtfs-rt/stream`: the positions as server-sent events (spec 0).
///
/// First one `snapshot` with everything, then an `update` or a `remove` for each entity that changed; the
/// data of both is an entity in the protobuf JSON mapping. A stream ends when its reader's key is revoked.
struct StreamEndpoint: Sendable {
    /// Readers of one process; each holds a connection.
    static let maximumReaders = 4000

    private let board: FeedBoard
    private let hub: StreamHub
    private let access: Access
    private let hasKeys: Bool
    private let includesAgency: Bool

    /// Makes the endpoint.
    ///
    /// - Parameters:
    ///   - board: The newest feeds.
    ///   - hub: Feeds the readers.
    ///   - access: Who may read.
    ///   - keys: The keys that readers may have; nil where none is needed.
    ///   - includesAgency: Whether agencies' entities are published (`FEED_INCLUDE_AGENCY`).
    init(
        board: FeedBoard,
        hub: StreamHub,
        access: Access,
        keys: APIKeyBoard? = nil,
        includesAgency: Bool
    ) {
        self.board = board
        self.hub = hub
        self.access = access
        self.includesAgency = includesAgency
        hasKeys = keys != nil
        keys?.onLook { [weak hub] isRevoked in hub?.dismiss(where: isRevoked) }
    }

    var endpoint: Endpoint {
        Endpoint(streaming: "/gtfs-rt/stream", access: access, logLevel: .debug) { request in
            let filter = try StreamFilter(request.query, includesAgency: includesAgency)
            _ = try board.feedForReaders(.vehiclePositions)
            let key = hasKeys ? request.apiKeyDigest : nil
            guard let reader = hub.join(filter, key: key) else {
                throw HTTPError(
                    status: 503,
                    code: "stream.full",
                    message: "too many readers, try again later",
                    retryAfter: 30
                )
            }
            return StreamAnswer(
                headers: [
                    ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
                    ("X-Accel-Buffering", "no"),
                ],
                source: reader
            )
        }
    }
}
