/// A long-lived part of a process.
public protocol Service: Sendable {
    /// The name in logs, such as `reaper`.
    var name: String { get }

    /// Works until the task is cancelled, then puts everything in order and returns.
    ///
    /// Returning or throwing without having been cancelled stops the whole process: a part that
    /// ends by itself is a fault.
    func run() async throws
}

/// A service made from a closure.
public struct ClosureService: Service {
    /// The name in logs.
    public let name: String
    private let body: @Sendable () async throws -> Void

    /// Makes a service that runs `body`.
    public init(_ name: String, run body: @escaping @Sendable () async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// Runs the closure.
    public func run() async throws { try await body() }
}

/// A part that works by itself once started and only has to be closed in its turn.
public struct ClosingService: Service {
    /// The name in logs.
    public let name: String
    private let close: @Sendable () async -> Void

    /// Makes a service that waits to be cancelled and then runs `close`.
    public init(_ name: String, close: @escaping @Sendable () async -> Void) {
        self.name = name
        self.close = close
    }

    /// Waits to be cancelled, then closes.
    public func run() async throws {
        await untilCancelled()
        // A task of its own: what closes in here must not see the cancellation.
        await Task { await close() }.value
    }
}

/// Waits, without a thread, until the current task is cancelled.
public func untilCancelled() async {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    await withTaskCancellationHandler {
        for await _ in stream {}
    } onCancel: {
        continuation.finish()
    }
}
