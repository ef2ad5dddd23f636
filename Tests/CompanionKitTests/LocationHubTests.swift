import Foundation
import Synchronization
import Testing

@testable import CompanionKit

/// Seed section 10: one collector, many sinks.
@Suite(.timeLimit(.minutes(1))) struct LocationHubTests {
    /// Counts how many streams are open at once.
    final class CountingFeed: LocationFeed {
        private struct State {
            var reader: AsyncStream<LocationReading>.Continuation?
            var open = 0
            var opened = 0
            var most = 0
            var intervals: [Duration] = []
        }

        private let state = Mutex(State())

        var opened: Int { state.withLock { $0.opened } }
        var open: Int { state.withLock { $0.open } }
        var most: Int { state.withLock { $0.most } }
        var intervals: [Duration] { state.withLock { $0.intervals } }

        func readings() -> AsyncStream<LocationReading> {
            let (stream, continuation) = AsyncStream.makeStream(of: LocationReading.self)
            state.withLock { state in
                state.reader = continuation
                state.open += 1
                state.opened += 1
                state.most = max(state.most, state.open)
            }
            continuation.onTermination = { _ in self.state.withLock { $0.open -= 1 } }
            return stream
        }

        func setInterval(_ interval: Duration) {
            state.withLock { $0.intervals.append(interval) }
        }

        func yield(_ reading: LocationReading) {
            state.withLock { $0.reader }?.yield(reading)
        }

        /// The stream ends by itself.
        func end() { state.withLock { $0.reader }?.finish() }

        func isOpen(_ wanted: Bool) async {
            while (open == 1) != wanted { await Task.yield() }
        }
    }

    let feed = CountingFeed()
    let clock = ManualCompanionClock()
    let hub: LocationHub

    init() { hub = LocationHub(feed: feed, clock: clock) }

    /// Lets the phone make a fix, and waits until the hub has it.
    func fix(_ meters: Double) async {
        feed.yield(Places.reading(meters, at: clock.now))
        while await hub.latest?.reading.coordinate != Places.north(meters) { await Task.yield() }
    }

    @Test func `opens one stream for everyone, at the highest cadence anyone asks for`()
        async throws
    {
        let circle = await hub.attach(every: CirclePresence.activeInterval)
        await feed.isOpen(true)
        let convoy = await hub.attach(every: LocationHub.convoyInterval)
        await hub.setInterval(CirclePresence.idleInterval, of: circle)
        await hub.detach(convoy)
        #expect(feed.opened == 1 && feed.most == 1)
        #expect(feed.intervals == [.seconds(120), .seconds(2), .seconds(1800)])
        await hub.detach(circle)
        await feed.isOpen(false)
    }

    @Test func `opens again for the next one, never two at once`() async {
        for _ in 0..<20 {
            let sink = await hub.attach(every: .seconds(2))
            await hub.detach(sink)
            let other = await hub.attach(every: .seconds(2))
            await feed.isOpen(true)
            await hub.detach(other)
        }
        await feed.isOpen(false)
        #expect(feed.most == 1)
    }

    @Test func `gives each sink what it asked for and no more`() async {
        let convoy = await hub.attach(every: .seconds(2))
        let circle = await hub.attach(every: .seconds(120))
        await feed.isOpen(true)
        var convoyCount = 0
        var rides = convoy.fixes.makeAsyncIterator()
        for second in 0...130 {
            await fix(Double(second + 1))
            if second.isMultiple(of: 2) {
                _ = await rides.next()
                convoyCount += 1
            }
            clock.advance(by: .seconds(1))
        }
        await hub.detach(convoy)
        await hub.detach(circle)
        #expect(convoyCount == 66)
        #expect(await rides.next() == nil)
        // The newest alone waited for a reader who never came.
        var presences: [Double] = []
        for await fix in circle.fixes {
            presences.append(fix.reading.coordinate.distanceMeters(to: Places.middle).rounded())
        }
        #expect(presences == [109])
    }

    @Test func `passes over what is not on Earth`() async {
        let sink = await hub.attach(every: .seconds(2))
        await feed.isOpen(true)
        feed.yield(
            LocationReading(
                coordinate: Coordinate(latitude: .nan, longitude: 0),
                measuredAt: clock.now
            )
        )
        await fix(1)
        var fixes = sink.fixes.makeAsyncIterator()
        #expect(await fixes.next()?.reading.coordinate == Places.north(1))
        await hub.detach(sink)
    }

    // MARK: - A stream that ends by itself

    @Test func `opens a stream that has ended again after a second, for the same sinks`()
        async throws
    {
        let sink = await hub.attach(every: .seconds(2))
        await feed.isOpen(true)
        await fix(1)
        feed.end()
        await clock.sleeper(of: .seconds(1))
        clock.advance(by: .milliseconds(999))
        #expect(feed.opened == 1)
        clock.advance(by: .milliseconds(1))
        await feed.isOpen(true)
        #expect(feed.intervals == [.seconds(2), .seconds(2)])
        clock.advance(by: .seconds(2))
        await fix(2)
        var fixes = sink.fixes.makeAsyncIterator()
        #expect(await fixes.next()?.reading.coordinate == Places.north(2))
        await hub.detach(sink)
        #expect(feed.opened == 2 && feed.most == 1)
    }

    @Test func `waits longer each time that nothing came, and a second again after a fix`()
        async throws
    {
        let sink = await hub.attach(every: .seconds(2))
        for (number, seconds) in [2, 4, 8, 16, 30, 30].enumerated() {
            await feed.isOpen(true)
            #expect(feed.opened == number + 1)
            feed.end()
            await clock.pass(.seconds(seconds))
        }
        await feed.isOpen(true)
        await fix(1)
        feed.end()
        await clock.pass(.seconds(1))
        await feed.isOpen(true)
        await hub.detach(sink)
        await feed.isOpen(false)
        #expect(feed.opened == 8 && feed.most == 1)
    }

    @Test func `opens nothing again for nobody, and at once for the next one`() async throws {
        let sink = await hub.attach(every: .seconds(2))
        await feed.isOpen(true)
        feed.end()
        await clock.sleeper(of: .seconds(2))
        await hub.detach(sink)
        clock.advance(by: .seconds(3600))
        #expect(feed.opened == 1)
        let next = await hub.attach(every: .seconds(120))
        await feed.isOpen(true)
        #expect(feed.intervals == [.seconds(2), .seconds(120)])
        await hub.detach(next)
    }

    @Test func `a sink ends with its hub`() async throws {
        var hub: LocationHub? = LocationHub(feed: feed, clock: clock)
        let sink = try #require(await hub?.attach(every: .seconds(2)))
        await feed.isOpen(true)
        hub = nil
        for await _ in sink.fixes {}
        await feed.isOpen(false)
    }

    // MARK: - Stamps

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300])
    func `stamps what was measured at no time at all`(seconds: Double) {
        let fix = LocationFix(
            Places.reading(0, at: Date(timeIntervalSince1970: seconds)),
            receivedAt: Date(timeIntervalSince1970: 1000),
            uptime: .seconds(500)
        )
        let isOld = fix.age(at: .seconds(500)) > CirclePresence.trustedAge
        #expect(isOld == (seconds < 0))
    }

    @Test func `sets the stamp back by the lag of the delivery`() {
        let now = Date(timeIntervalSince1970: 1000)
        let reading = Places.reading(0, at: now.addingTimeInterval(-30))
        let fix = LocationFix(reading, receivedAt: now, uptime: .seconds(500))
        #expect(fix.measuredAtUptime == .seconds(470))
        #expect(fix.age(at: .seconds(500)) == .seconds(30))
        #expect(fix.age(at: .seconds(600)) == .seconds(130))
    }

    @Test func `is not fooled by a clock that is set after receipt`() async {
        let sink = await hub.attach(every: .seconds(2))
        await feed.isOpen(true)
        await fix(1)
        clock.setWall(clock.now.addingTimeInterval(-86_400))
        clock.advance(by: .seconds(60))
        #expect(await hub.latest?.age(at: clock.uptime) == .seconds(60))
        await hub.detach(sink)
    }

    @Test func `takes a measurement from the future for a fresh one`() {
        let now = Date(timeIntervalSince1970: 1000)
        let reading = Places.reading(0, at: now.addingTimeInterval(3600))
        let fix = LocationFix(reading, receivedAt: now, uptime: .seconds(500))
        #expect(fix.age(at: .seconds(500)) == .zero)
    }
}
