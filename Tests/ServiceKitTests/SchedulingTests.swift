import Foundation
import Testing

@testable import ServiceKit

/// Nothing can be said where the tests themselves run under another policy.
@Suite(.enabled(if: sched_getscheduler(0) == SCHED_OTHER)) struct SchedulingTests {
    /// SCHED_BATCH and SCHED_IDLE of sched(7).
    private static let (batch, idle) = (Int32(3), Int32(5))

    /// The policy of a thread that had one before.
    private func policy(after scheduling: Scheduling, from before: Int32) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var parameters = sched_param()
                parameters.sched_priority = 0
                _ = sched_setscheduler(0, before, &parameters)
                scheduling.apply()
                continuation.resume(returning: sched_getscheduler(0))
            }
        }
    }

    @Test func `a service for throughput asks for turns that nothing interrupts`() async {
        #expect(await policy(after: .batch, from: SCHED_OTHER) == Self.batch)
        #expect(await policy(after: .ordinary, from: SCHED_OTHER) == SCHED_OTHER)
    }

    @Test func `what an operator chose stays`() async {
        #expect(await policy(after: .batch, from: Self.idle) == Self.idle)
    }
}
