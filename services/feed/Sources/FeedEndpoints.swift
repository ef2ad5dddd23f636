internal import Telemetry
internal import Web

/// What trip planners ask for over HTTP; answered at once, from bytes that are already there.
struct FeedEndpoints: Sendable {
    let publisher: FeedPublisher
    /// Everyone, or holders of an API key (`FEED_AUTH_ENABLED`).
    var access = Access.anyone

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(
                .get,
                "/gtfs-rt/vehicle-positions",
                access: access,
                logLevel: .debug,
                inline: vehiclePositions
            )
        ]
    }

    private func vehiclePositions(_ request: HTTPRequest) throws -> HTTPResponse {
        let wanted = request.query.first("source") ?? ""
        guard let source = wanted.isEmpty ? .all : FeedSource(rawValue: wanted) else {
            throw HTTPError.badRequest("invalid source", code: "source.invalid")
        }
        // Any other value is the protobuf form, as readers of the driver feed are used to (spec 1.9).
        let format = FeedFormat(rawValue: request.query.first("format") ?? "") ?? .protobuf
        return publisher.published.content(source, format).response(to: request)
    }
}
