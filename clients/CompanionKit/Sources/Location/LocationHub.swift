/// Gives the phone's positions; the kit opens one stream of it at a time.
public protocol LocationFeed: Sendable {
    /// Positions until the consumer stops; a stream that ends before is asked for again.
    func readings() -> AsyncStream<LocationReading>
    /// How often positions are wanted now; called before a stream opens and whenever that changes.
    func setInterval(_ interval: Duration)
}

/// The one location stream, shared by everything that wants positions.
///
/// Two subscriptions would double the cost of the dearest thing an app does (seed section 10).
/// Convoys and circles are therefore sinks on one stream, and the highest cadence that any of them
/// asks for wins; each sink still hears no more often than it asked. Without sinks nothing runs.
///
/// A stream that ends by itself is opened again, after 1 s when positions had come, else after 2,
/// 4, 8, 16, 30, 30, … s. Sinks stay; they hear nothing meanwhile, and ``latest`` grows old.
public actor LocationHub {
    /// What a convoy asks for: slower reads as a frozen map.
    public static let convoyInterval = Duration.seconds(2)

    /// One consumer of the stream.
    public struct Sink: Sendable {
        let number: Int
        /// The fixes, until ``LocationHub/detach(_:)`` or the hub's end; the newest alone waits for a
        /// slow reader.
        public let fixes: AsyncStream<LocationFix>
    }

    private struct Outlet {
        var interval: Duration
        var deliveredAt: Duration?
        let continuation: AsyncStream<LocationFix>.Continuation
    }

    private let feed: any LocationFeed
    private let clock: any CompanionClock
    private var outlets: [Int: Outlet] = [:]
    private var sinkCount = 0
    private var interval: Duration?
    private var subscription: Task<Void, Never>?

    /// The newest fix of the stream, which may be old.
    public private(set) var latest: LocationFix?

    /// Makes a hub.
    ///
    /// - Parameters:
    ///   - feed: The phone's positions.
    ///   - clock: Stamps each on receipt.
    public init(feed: any LocationFeed, clock: any CompanionClock = SystemCompanionClock()) {
        self.feed = feed
        self.clock = clock
    }

    /// Adds a consumer; the first opens the stream.
    ///
    /// - Parameter interval: How often it wants a fix.
    /// - Returns: Its fixes.
    public func attach(every interval: Duration) -> Sink {
        sinkCount += 1
        let (fixes, continuation) = AsyncStream.makeStream(
            of: LocationFix.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        outlets[sinkCount] = Outlet(interval: interval, continuation: continuation)
        adjust()
        return Sink(number: sinkCount, fixes: fixes)
    }

    /// Changes how often a consumer wants a fix.
    public func setInterval(_ interval: Duration, of sink: Sink) {
        outlets[sink.number]?.interval = interval
        adjust()
    }

    /// Removes a consumer; the last closes the stream.
    public func detach(_ sink: Sink) {
        outlets.removeValue(forKey: sink.number)?.continuation.finish()
        adjust()
    }

    deinit {
        subscription?.cancel()
        for outlet in outlets.values { outlet.continuation.finish() }
    }

    // MARK: - The stream

    private func adjust() {
        let wanted = outlets.values.map(\.interval).min()
        guard wanted != interval else { return }
        interval = wanted
        guard let wanted else {
            subscription?.cancel()
            return
        }
        feed.setInterval(wanted)
        guard subscription?.isCancelled ?? true else { return }
        // One at a time: the stream of before has closed when this one opens.
        subscription = Task { [weak self, feed, clock, before = subscription] in
            await before?.value
            // A phone's own positions: nobody else comes back in the same second.
            var backoff = ReconnectBackoff(random: { 1 })
            while !Task.isCancelled {
                var hadReadings = false
                for await reading in feed.readings() {
                    guard !Task.isCancelled, let self else { return }
                    hadReadings = true
                    await self.receive(reading)
                }
                do { try await clock.sleep(for: backoff.delay(hadJoined: hadReadings)) } catch {
                    return
                }
                await self?.prepareFeed()
            }
        }
    }

    private func prepareFeed() {
        if let interval { feed.setInterval(interval) }
    }

    private func receive(_ reading: LocationReading) {
        guard reading.coordinate.isOnEarth else { return }
        let uptime = clock.uptime
        let fix = LocationFix(reading, receivedAt: clock.now, uptime: uptime)
        latest = fix
        for (number, outlet) in outlets {
            // A tenth of the interval is jitter of the delivery, not impatience.
            let due = outlet.deliveredAt.map { $0 + outlet.interval - outlet.interval / 10 }
            guard due.map({ $0 <= uptime }) ?? true else { continue }
            outlets[number]?.deliveredAt = uptime
            outlet.continuation.yield(fix)
        }
    }
}
