import Foundation
import Synchronization
import VehiclePositionsKit

/// Positions a test feeds by hand, one consumer at a time.
final class FakeLocationSource: LocationSource {
    final class Handle: BackgroundActivityHandle {
        private let invalidated = Mutex(false)
        var isInvalidated: Bool { invalidated.withLock { $0 } }
        func invalidate() { invalidated.withLock { $0 = true } }
    }

    private struct State {
        var queue: [LocationSample] = []
        var hasEnded = false
        var consumer: CheckedContinuation<LocationSample?, Never>?
        var idle: [CheckedContinuation<Void, Never>] = []
        var handles: [Handle] = []
    }

    private let state = Mutex(State())

    var handles: [Handle] { state.withLock { $0.handles } }

    func beginBackgroundActivity() -> any BackgroundActivityHandle {
        let handle = Handle()
        state.withLock { $0.handles.append(handle) }
        return handle
    }

    func updates() -> AsyncThrowingStream<LocationSample, any Error> {
        AsyncThrowingStream { await self.next() }
    }

    private func next() async -> LocationSample? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                var idle: [CheckedContinuation<Void, Never>] = []
                state.withLock { state in
                    if Task.isCancelled || (state.hasEnded && state.queue.isEmpty) {
                        continuation.resume(returning: nil)
                    } else if state.queue.isEmpty {
                        state.consumer = continuation
                        idle = state.idle
                        state.idle = []
                    } else {
                        continuation.resume(returning: state.queue.removeFirst())
                    }
                }
                for continuation in idle { continuation.resume() }
            }
        } onCancel: {
            let consumer = state.withLock { state in
                defer { state.consumer = nil }
                return state.consumer
            }
            consumer?.resume(returning: nil)
        }
    }

    /// Hands samples over without waiting.
    func send(_ samples: [LocationSample]) {
        let consumer = state.withLock { state in
            state.queue += samples
            guard !state.queue.isEmpty, let consumer = state.consumer else {
                return nil as (CheckedContinuation<LocationSample?, Never>, LocationSample)?
            }
            state.consumer = nil
            return (consumer, state.queue.removeFirst())
        }
        consumer?.0.resume(returning: consumer?.1)
    }

    /// Hands samples over and returns once the reporter has dealt with them and waits for more.
    func feed(_ samples: [LocationSample]) async {
        send(samples)
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.queue.isEmpty && state.consumer != nil { return true }
                state.idle.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    /// The stream ends by itself.
    func end() {
        let consumer = state.withLock { state in
            state.hasEnded = true
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume(returning: nil)
    }
}
