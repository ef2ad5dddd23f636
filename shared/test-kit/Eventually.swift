/// Polls until something that another thread or process does is so: often at first, then each 50 ms.
///
/// - Parameters:
///   - what: What is waited for, for the failure.
///   - limit: How long at the most; generous, as a test may share its machine with anything.
///   - condition: Looks whether it is so.
/// - Throws: ``Late`` at the limit; `CancellationError` when a suite's time limit ends the test; what
///   `condition` throws.
public func eventually(
    _ what: @autoclosure () -> String,
    within limit: Duration = .seconds(30),
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    var pause = Duration.milliseconds(2)
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw Late("not within \(limit): \(what())") }
        try await Task.sleep(for: pause)
        pause = min(pause * 3 / 2, .milliseconds(50))
    }
}

/// Something that a test waited for did not come about in time.
public struct Late: Error, CustomStringConvertible {
    /// What did not come about.
    public let description: String

    /// Says what did not come about.
    public init(_ description: String) { self.description = description }
}
