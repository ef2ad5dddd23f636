internal import Telemetry
internal import Web

/// `GET /gtfs-rt/stream`: the positions as server-sent events (spec 0).
///
/// First one `snapshot` with everything, then an `update` or a `remove` for each entity that changed; the
/// data of both is an entity in the protobuf JSON mapping. A stream ends when its reader's key is revoked.
struct StreamEndpoint: Sendable {
    /// Readers of one process; each holds a connection.
    static let maximumReaders = 4000

    let board: FeedBoard
    let hub: StreamHub
    let access: Access
    /// The keys that readers may have; nil where none is needed.
    var keys: APIKeyBoard?
    let includesAgency: Bool

    var endpoint: Endpoint {
        keys?.onLook { [weak hub] isRevoked in hub?.dismiss(where: isRevoked) }
        return Endpoint(streaming: "/gtfs-rt/stream", access: access, logLevel: .debug) { request in
            let filter = try StreamFilter(request.query, includesAgency: includesAgency)
            _ = try board.feedForReaders(.vehiclePositions)
            let key = keys == nil ? nil : request.apiKeyDigest
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
