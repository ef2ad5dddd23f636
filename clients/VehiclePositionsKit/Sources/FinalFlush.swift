internal import Foundation

/// The last words of a ride: at most two batches and the end call, within ten seconds.
struct FinalFlush: Sendable {
    /// A host waiting for `end` must not wait longer.
    static let budget = Duration.seconds(10)
    /// How long a throttled final batch waits before its only second try.
    static let throttlePause = Duration.seconds(2)

    let client: RiderClient
    let clock: any RideClock
    let ride: RideAddress
    let batches: [[RiderPosition]]
    /// Nil when the server is not told, because it knows or will find out by itself.
    let reason: RideEndReason?

    /// Runs against the budget.
    ///
    /// The loser of the race keeps running on its own: a late end call is still worth its arrival.
    func run() async -> RideSummary? {
        guard !batches.isEmpty || reason != nil else { return nil }
        let (first, winner) = AsyncStream.makeStream(
            of: RideSummary?.self,
            bufferingPolicy: .bufferingOldest(1)
        )
        Task.detached { winner.yield(await send()) }
        let timer = Task.detached { [clock] in
            do { try await clock.sleep(for: Self.budget) } catch { return }
            winner.yield(nil)
        }
        defer { timer.cancel() }
        for await summary in first { return summary }
        return nil
    }

    func send() async -> RideSummary? {
        for batch in batches {
            var outcome = await client.report(batch, of: ride)
            if case .throttled = outcome {
                try? await clock.sleep(for: Self.throttlePause)
                outcome = await client.report(batch, of: ride)
            }
            switch outcome {
            case .accepted(let answer) where answer.ended: return nil
            case .gone, .unauthorized: return nil
            case .accepted, .rejected, .throttled, .failed, .cancelled: break
            }
        }
        guard let reason else { return nil }
        return try? await client.endRide(ride.rideID, reason: reason, token: ride.token)
    }
}
