internal import Messages
internal import RealtimeFeed
internal import Synchronization
internal import Web

/// Which entities a reader asked for (seed 4.8).
enum FeedSource: String, Sendable, CaseIterable {
    /// Reported by drivers.
    case driver
    /// Estimated from riders.
    case rider
    /// Both.
    case all
}

/// In which form a reader asked for it.
enum FeedFormat: String, Sendable, CaseIterable {
    /// `application/x-protobuf`, the GTFS-Realtime form.
    case protobuf
    /// The protobuf JSON mapping.
    case json
    /// A FeatureCollection for maps.
    case geojson

    var contentType: String {
        switch self {
        case .protobuf: "application/x-protobuf"
        case .json: "application/json"
        case .geojson: "application/geo+json"
        }
    }
}

/// One built feed; each variant is encoded once, when the first reader asks for it.
final class PublishedFeed: Sendable {
    private struct Variant: Hashable {
        let source: FeedSource
        let format: FeedFormat
    }

    private let message: FeedMessage
    private let variants = Mutex<[Variant: ConditionalContent]>([:])

    init(_ message: FeedMessage) { self.message = message }

    /// How many entities it holds.
    var entityCount: Int { message.entities.count }

    /// The bytes of a variant with their ETag, shared by all readers.
    func content(_ source: FeedSource, _ format: FeedFormat) -> ConditionalContent {
        let variant = Variant(source: source, format: format)
        return variants.withLock { variants in
            if let content = variants[variant] { return content }
            var part = message
            switch source {
            case .all: break
            // No driver's vehicle id can hold a colon.
            case .rider: part.entities = part.entities.filter { $0.id.hasPrefix("rider:") }
            case .driver: part.entities = part.entities.filter { !$0.id.hasPrefix("rider:") }
            }
            let bytes =
                switch format {
                case .protobuf: part.encoded()
                case .json: part.json()
                case .geojson: part.geoJSON()
                }
            let content = ConditionalContent(
                bytes,
                contentType: format.contentType,
                headers: [("Cache-Control", "no-cache")]
            )
            variants[variant] = content
            return content
        }
    }
}
