/// Drives the circles' tick from the phone's one location stream (seed section 10).
///
/// While the app tracks, it is a sink on the stream and ticks as often as ``CirclePresence`` says.
/// While the phone is parked it holds no stream: each quarter of an hour, or whenever the system
/// wakes the app, it asks for one fix and ticks.
public actor CircleSync {
    /// How long a parked tick waits for a fresh fix before it makes do with the last one.
    static let fixPatience = Duration.seconds(20)

    private let presence: CirclePresence
    private let hub: LocationHub
    private let clock: any CompanionClock
    private var isParked = false
    private var pause: Task<Void, Never>?
    private var tracked: LocationHub.Sink?

    /// Makes a driver.
    ///
    /// - Parameters:
    ///   - presence: Decides what a tick does.
    ///   - hub: The phone's positions.
    ///   - clock: The time it lives by; the hub's.
    public init(
        presence: CirclePresence,
        hub: LocationHub,
        clock: any CompanionClock = SystemCompanionClock()
    ) {
        self.presence = presence
        self.hub = hub
        self.clock = clock
    }

    /// Says whether the phone is parked; the next tick comes at once.
    public func setParked(_ isParked: Bool) async {
        guard isParked != self.isParked else { return }
        self.isParked = isParked
        pause?.cancel()
        // Whoever waits for a first fix would hold the stream for as long as none comes.
        if isParked, let tracked { await hub.detach(tracked) }
    }

    /// Ticks until the task is cancelled.
    public func run() async {
        do {
            while true {
                if isParked {
                    try await tickOnce()
                    if isParked { await wait(for: CirclePresence.parkedInterval) }
                } else {
                    try await track()
                }
                try Task.checkCancellation()
            }
        } catch {
            // Cancelled: there is nothing else to throw.
        }
    }

    /// Runs one tick, as from a background refresh that the system granted.
    ///
    /// - Returns: How long the next one may wait; parked, no less than
    ///   ``CirclePresence/parkedInterval``.
    /// - Throws: `CancellationError` when the task is cancelled.
    @discardableResult
    public func tickOnce() async throws -> Duration {
        let sink = await hub.attach(every: LocationHub.convoyInterval)
        let fresh = await firstFix(of: sink)
        await hub.detach(sink)
        try Task.checkCancellation()
        let latest = await hub.latest
        guard let fix = fresh ?? latest else { return CirclePresence.parkedInterval }
        let wait = try await tick(fix)
        return isParked ? CirclePresence.parkedInterval : wait
    }

    // MARK: - Details

    /// Ticks from the stream until the phone is parked.
    private func track() async throws {
        let sink = await hub.attach(every: CirclePresence.activeInterval)
        tracked = sink
        do {
            if !isParked { try await track(sink) }
        } catch {
            await hub.detach(sink)
            throw error
        }
        tracked = nil
        await hub.detach(sink)
    }

    private func track(_ sink: LocationHub.Sink) async throws {
        var first = sink.fixes.makeAsyncIterator()
        // Without a first fix there is nothing to tell; the wait ends with cancellation, or parked.
        _ = await first.next()
        while !isParked {
            try Task.checkCancellation()
            guard let fix = await hub.latest else { break }
            let interval = try await tick(fix)
            await hub.setInterval(interval, of: sink)
            guard !isParked else { break }
            await wait(for: interval)
        }
    }

    private func tick(_ fix: LocationFix) async throws -> Duration {
        try await presence.tick(fix.reading, age: fix.age(at: clock.uptime), now: clock.now)
    }

    private func firstFix(of sink: LocationHub.Sink) async -> LocationFix? {
        let clock = clock
        return await withTaskGroup(of: LocationFix?.self) { group in
            group.addTask {
                for await fix in sink.fixes { return fix }
                return nil
            }
            group.addTask {
                try? await clock.sleep(for: Self.fixPatience)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private func wait(for duration: Duration) async {
        guard !Task.isCancelled else { return }
        let pause = Task { [clock] in _ = try? await clock.sleep(for: duration) }
        self.pause = pause
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
        self.pause = nil
    }
}
