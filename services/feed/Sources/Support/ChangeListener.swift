internal import Database
internal import ServiceKit
internal import Synchronization

/// Wakes followers of rows when a commit anywhere tells of a change.
struct ChangeListener: Service {
    let name = "changes"
    private let listener: NotificationListener

    /// Begins to listen in the background.
    ///
    /// - Parameters:
    ///   - followers: Whom to wake, by channel; all of them after each new connection, as what was
    ///     told meanwhile is lost.
    ///   - surroundings: Where the database is.
    init(_ followers: [String: RowFollower], _ surroundings: DriverIntake.Surroundings) {
        listener = NotificationListener(
            surroundings.writing,
            channels: followers.keys.sorted(),
            name: "changes",
            logger: surroundings.logger,
            metrics: surroundings.metrics,
            connected: { _ in for follower in followers.values { follower.wake() } },
            receive: { followers[$0.channel]?.wake() }
        )
    }

    /// Listens until the task is cancelled.
    func run() async throws {
        await untilCancelled()
        // A task of its own: what closes in here must not see the cancellation.
        await Task { await listener.close() }.value
    }
}
