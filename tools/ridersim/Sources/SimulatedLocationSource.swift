internal import FoundationEssentials
internal import Synchronization
internal import Transit
internal import VehiclePositionsKit

/// A phone's positioning, fed by a walk instead of satellites.
final class SimulatedLocationSource: LocationSource {
    struct Handle: BackgroundActivityHandle {
        func invalidate() {}
    }

    struct Plan: Sendable {
        /// Between two fixes.
        var interval: Duration
        /// Before the first fix, so that riders do not report in step.
        var phase: Duration
        /// Seconds after which the rider gets off; nil to ride to the end.
        var duration: Double?
        /// Made when positions are first asked for: that is when the rider sets out.
        var walk: @Sendable (_ now: Date) -> SimulatedWalk
    }

    private struct State {
        var walk: SimulatedWalk?
        var startedAt = Date()
        var ending: RideEndReason?
        var alongShape = 0.0
    }

    /// Names the reason once the walk is over and its last fix has been taken.
    let endings: AsyncStream<RideEndReason>

    private let plan: Plan
    private let clock: any RideClock
    private let announce: AsyncStream<RideEndReason>.Continuation
    private let state = Mutex(State())

    init(plan: Plan, clock: any RideClock) {
        self.plan = plan
        self.clock = clock
        (endings, announce) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Metres along the shape at the latest fix.
    var alongShape: Double { state.withLock { $0.alongShape } }

    func updates() -> AsyncThrowingStream<LocationSample, any Error> {
        AsyncThrowingStream { try await self.next() }
    }

    func beginBackgroundActivity() -> any BackgroundActivityHandle { Handle() }

    private func next() async throws -> LocationSample? {
        if let ending = state.withLock({ $0.ending }) {
            announce.yield(ending)
            // The ride's end cancels this wait.
            while true { try await clock.sleep(for: .seconds(60)) }
        }
        let isFirst = state.withLock { $0.walk == nil }
        try await clock.sleep(for: isFirst ? plan.phase : plan.interval)
        let now = clock.now
        return state.withLock { state in
            if state.walk == nil {
                state.walk = plan.walk(now)
                state.startedAt = now
            }
            guard let walk = state.walk else { return nil }
            let elapsed = now.timeIntervalSince(state.startedAt)
            if walk.isFinished(at: elapsed) {
                state.ending = .arrived
            } else if let duration = plan.duration, elapsed >= duration {
                state.ending = .userRequested
            }
            let fix = walk.fix(at: elapsed)
            state.alongShape = fix.alongShape
            return LocationSample(
                coordinate: VehiclePositionsKit.Coordinate(
                    latitude: fix.coordinate.latitude,
                    longitude: fix.coordinate.longitude
                ),
                horizontalAccuracy: fix.accuracyMeters,
                speed: fix.speedMetersPerSecond,
                course: fix.bearingDegrees,
                timestamp: now
            )
        }
    }
}
