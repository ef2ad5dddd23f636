internal import Database
internal import Dispatch
internal import ServiceKit
internal import Synchronization

/// Waits for asynchronous work on a thread that is not of the cooperative pool.
enum BlockingWait {
    private final class Box<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)

        /// What the work came to, once it has signalled its end.
        var taken: Result<Value, any Error> {
            guard let result = result.withLock({ $0 }) else {
                preconditionFailure("the work signalled its end without a result")
            }
            return result
        }
    }

    /// Runs `work` to its end.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) -> Result<Value, any Error> {
        let box = Box<Value>()
        start(work, box).wait()
        return box.taken
    }

    /// Runs `work` to its end on a database, whose connection is closed after it.
    ///
    /// - Parameters:
    ///   - url: The database.
    ///   - schema: Whose role works there, in its schema; nil for the owner.
    ///   - name: What the server calls the connection.
    ///   - work: What is done.
    /// - Returns: What it came to.
    static func run<Value: Sendable>(
        on url: String,
        as schema: ServiceSchema? = nil,
        called name: String,
        _ work: @escaping @Sendable (Database) async throws -> Value
    ) -> Result<Value, any Error> {
        run {
            let database = Database(
                DatabaseConfiguration(
                    url: url,
                    role: schema?.role,
                    schema: schema?.name,
                    connections: 1,
                    applicationName: name
                )
            )
            let result: Result<Value, any Error>
            do { result = .success(try await work(database)) } catch { result = .failure(error) }
            await database.close()
            return try result.get()
        }
    }

    /// Runs `work` to its end, or until `isStopped` says so.
    ///
    /// - Parameters:
    ///   - isStopped: Asked ten times a second, on the calling thread.
    ///   - work: Goes on unheard when it is stopped, so only for a process that ends then.
    /// - Returns: nil when it was stopped.
    static func run<Value: Sendable>(
        unless isStopped: () -> Bool,
        _ work: @escaping @Sendable () async throws -> Value
    ) -> Result<Value, any Error>? {
        let box = Box<Value>()
        let done = start(work, box)
        while done.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            if isStopped() { return nil }
        }
        return box.taken
    }

    private static func start<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value,
        _ box: Box<Value>
    ) -> DispatchSemaphore {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            let result: Result<Value, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            box.result.withLock { $0 = result }
            done.signal()
        }
        return done
    }
}
