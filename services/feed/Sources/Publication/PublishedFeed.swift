internal import Messages
internal import RealtimeFeed
internal import Synchronization
internal import Transit
internal import Web

/// Which entities a reader asked for (seed 4.8).
enum FeedSource: String, Sendable, CaseIterable {
    /// Reported by drivers.
    case driver
    /// Estimated from riders.
    case rider
    /// From agencies' feeds, where the operator publishes them.
    case agency
    /// All of these.
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

/// One built feed; each variant is made once and shared by all readers.
///
/// Every replica has the same built bytes and makes the variants of them alone, so that all have the same
/// bytes and tags.
final class PublishedFeed: Sendable {
    /// A source in a format.
    struct Variant: Hashable {
        let source: FeedSource
        let format: FeedFormat
    }

    /// For how many feeds a variant that somebody asked for is made ahead.
    private static let keptFeeds = 90

    private struct State {
        var contents: [Variant: ConditionalContent] = [:]
        /// For how many more feeds each variant is made ahead.
        var wanted: [Variant: Int]
    }

    let built: BuiltFeed
    private let state: Mutex<State>

    /// Wraps a built feed.
    ///
    /// - Parameters:
    ///   - built: What a builder made.
    ///   - previous: The feed before it, which knows what readers ask for.
    init(_ built: BuiltFeed, after previous: PublishedFeed? = nil) {
        self.built = built
        var wanted = (previous?.wanted ?? [:]).mapValues { $0 - 1 }.filter { $0.value > 0 }
        wanted[Variant(source: .all, format: .protobuf)] = Self.keptFeeds
        state = Mutex(State(wanted: wanted))
    }

    /// How many entities it holds.
    var entityCount: Int {
        built.variants.reduce(0) { $0 + FeedMessage.entityCount(inFields: $1.bytes) }
    }

    /// The entities of a source, read back from the bytes.
    func entities(of source: FeedSource) -> [FeedEntity] {
        (try? FeedMessage(decoding: bytes(of: source)))?.entities ?? []
    }

    /// The agencies' entities with the feeds that they come from, read back from the bytes.
    var agencyEntities: [SourcedEntity] {
        let header = FeedHeader(timestamp: 0).encodedField()
        return built.variants.filter { $0.kind == SourcedEntity.Source.agency.rawValue }
            .flatMap { variant in
                let message = try? FeedMessage(decoding: header + variant.bytes)
                return (message?.entities ?? []).map { entity in
                    SourcedEntity(ofAgency: entity, feed: variant.feed)
                }
            }
    }

    /// Makes the variants that readers ask for, compressed; for a thread that may take its time.
    func prepare() {
        for variant in state.withLock({ Array($0.wanted.keys) }) {
            let content = make(variant, compresses: true)
            state.withLock { $0.contents[variant] = content }
        }
    }

    /// The answer to a variant, shared by all readers.
    ///
    /// The first to ask for a variant gets it made at once and uncompressed, as others wait meanwhile.
    func content(_ source: FeedSource, _ format: FeedFormat) -> ConditionalContent {
        let variant = Variant(source: source, format: format)
        return state.withLock { state in
            state.wanted[variant] = Self.keptFeeds
            if let content = state.contents[variant] { return content }
            let content = make(variant, compresses: false)
            state.contents[variant] = content
            return content
        }
    }

    private var wanted: [Variant: Int] { state.withLock { $0.wanted } }

    private func make(_ variant: Variant, compresses: Bool) -> ConditionalContent {
        let plain = bytes(of: variant.source)
        let bytes: [UInt8]
        switch variant.format {
        case .protobuf: bytes = plain
        case .json: bytes = (try? FeedMessage(decoding: plain))?.json() ?? []
        case .geojson: bytes = (try? FeedMessage(decoding: plain))?.geoJSON() ?? []
        }
        return ConditionalContent(
            bytes,
            contentType: variant.format.contentType,
            lastModified: built.headerTimestamp,
            headers: [("Cache-Control", "no-cache")],
            compresses: compresses
        )
    }

    /// The whole protobuf feed of a source.
    private func bytes(of source: FeedSource) -> [UInt8] {
        var bytes = FeedHeader(timestamp: UInt64(max(0, built.headerTimestamp))).encodedField()
        for variant in built.variants where source == .all || variant.kind == source.rawValue {
            bytes += variant.bytes
        }
        return bytes
    }
}

extension BuiltFeed {
    /// Packs a build for all replicas.
    init(_ build: FeedBuilder.Build, stamp: BuilderStamp, tick: UInt64) {
        self.init(
            instance: stamp.instance,
            epoch: stamp.epoch,
            tick: tick,
            headerTimestamp: build.headerTimestamp,
            variants: SourcedEntity.Source.allCases.flatMap { source in
                Variant.list(
                    of: build.entities.filter { $0.source == source },
                    kind: source.rawValue
                )
            }
        )
    }
}

extension BuiltFeed.Variant {
    /// Packs the entities of a source, each agency's apart: a successor must know whose they are.
    fileprivate static func list(of entities: [SourcedEntity], kind: String) -> [Self] {
        let feeds = Set(entities.map(\.feed)).sorted { $0 ?? .max < $1 ?? .max }
        return feeds.map { feed in
            let own = entities.filter { $0.feed == feed }.map(\.entity)
            return Self(kind: kind, feed: feed, bytes: FeedMessage.encodedFields(of: own))
        }
    }
}
