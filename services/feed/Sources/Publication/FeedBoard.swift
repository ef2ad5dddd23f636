internal import Messages
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Web

/// The two feeds that are published.
enum FeedKind: String, Sendable, CaseIterable {
    /// `/gtfs-rt/vehicle-positions`
    case vehiclePositions = "vehicle-positions"
    /// `/gtfs-rt/trip-updates`
    case tripUpdates = "trip-updates"
}

/// The newest feed of each kind, built here or heard from the builder.
final class FeedBoard: Sendable {
    private struct State {
        var feeds: [FeedKind: PublishedFeed]
    }

    /// Whether this process has been running all the time.
    let wakefulness = Wakefulness()
    private let state: Mutex<State>
    private let changed = Mutex<@Sendable (FeedKind) -> Void>({ _ in })

    /// Makes a board with empty feeds that are dated at the beginning of time.
    init() {
        let empty = BuiltFeed(instance: "", epoch: 0, tick: 0, headerTimestamp: 0, variants: [])
        state = Mutex(
            State(
                feeds: Dictionary(
                    uniqueKeysWithValues: FeedKind.allCases.map { ($0, PublishedFeed(empty)) }
                )
            )
        )
    }

    /// Sets who hears of each new feed, on the thread that brought it.
    func onChange(_ hear: @escaping @Sendable (FeedKind) -> Void) { changed.withLock { $0 = hear } }

    /// The newest feed.
    func feed(_ kind: FeedKind) -> PublishedFeed {
        state.withLock { $0.feeds[kind] }
            ?? PublishedFeed(
                BuiltFeed(instance: "", epoch: 0, tick: 0, headerTimestamp: 0, variants: [])
            )
    }

    /// Whether any builder's feed has been heard of.
    var hasFeed: Bool { feed(.vehiclePositions).built.epoch > 0 }

    /// The newest feed for a reader.
    ///
    /// - Throws: 503 while no feed is known, as after a start, and while this process may have missed newer
    ///   ones, as after a freeze: a reader who saw those must not be given an older one.
    func feedForReaders(_ kind: FeedKind) throws(HTTPError) -> PublishedFeed {
        let feed = feed(kind)
        guard feed.built.epoch > 0, wakefulness.isAwake(at: Timestamps.monotonicNanoseconds())
        else {
            throw HTTPError(
                status: 503,
                code: "feed.unavailable",
                message: "the feed is not ready yet, try again",
                retryAfter: 1
            )
        }
        return feed
    }

    /// Takes a feed unless a newer one is known.
    ///
    /// The higher epoch and then the higher tick are newer. A header that would go back in time is not
    /// taken either; its builder dates the feed anew within seconds.
    ///
    /// - Returns: Whether it was taken.
    @discardableResult
    func take(_ built: BuiltFeed, _ kind: FeedKind) -> Bool {
        let known = feed(kind)
        guard isNewer(built, than: known.built) else { return false }
        let next = PublishedFeed(built, after: known)
        next.prepare()
        let isTaken = state.withLock { state in
            // Another thread may have brought one meanwhile.
            guard let current = state.feeds[kind], isNewer(built, than: current.built) else {
                return false
            }
            state.feeds[kind] = next
            return true
        }
        if isTaken {
            wakefulness.heardNews()
            changed.withLock { $0 }(kind)
        }
        return isTaken
    }

    private func isNewer(_ built: BuiltFeed, than known: BuiltFeed) -> Bool {
        (built.epoch, built.tick) > (known.epoch, known.tick)
            && built.headerTimestamp >= known.headerTimestamp
    }
}
