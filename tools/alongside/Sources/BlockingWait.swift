internal import Dispatch
internal import Synchronization

/// Waits for asynchronous work on a thread that is not of the cooperative pool.
enum BlockingWait {
    private final class Box<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)
    }

    /// Runs `work` to its end.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) -> Result<Value, any Error> {
        let box = Box<Value>()
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            let result: Result<Value, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            box.result.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        guard let result = box.result.withLock({ $0 }) else {
            preconditionFailure("the work signalled its end without a result")
        }
        return result
    }
}
