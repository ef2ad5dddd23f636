internal import CompanionKit

extension Member {
    /// How long a vote may take when the command line does not say.
    private static let votePatience = Duration.seconds(60)
    /// How long the relay may take to handle what was said before this goes.
    private static let relayPatience = Duration.seconds(10)

    /// `companion vote`: opens a vote or takes part in one, and tells what was decided.
    func vote() async throws {
        let group = try await group()
        guard group.kind == .convoy else { throw ToolError("only convoys vote") }
        await follow(group)
        let (decision, isTold) = try await connected {
            let decision = try await within(options.duration ?? Self.votePatience) {
                try await withThrowingTaskGroup(of: SpinCandidate?.self) { tasks in
                    if let start = options.start {
                        let feed = SimulatedFeed(options, start: start, clock: clock)
                        let hub = LocationHub(feed: feed, clock: clock)
                        tasks.addTask {
                            await stream(hub)
                            return nil
                        }
                    }
                    tasks.addTask { await decide() }
                    defer { tasks.cancelAll() }
                    while let next = try await tasks.next() {
                        if let next { return next }
                    }
                    throw CancellationError()
                }
            }
            // What the relay is still looking at goes with the connection.
            let isTold = try await within(Self.relayPatience) { await relay.settled() }
            return (decision, isTold ?? false)
        }
        guard let decision else { throw ToolError("nothing was decided in time") }
        say("decided: \(Self.text(decision))")
        guard isTold else { throw ToolError("the relay did not say that it told the others") }
    }

    /// Votes once there is something to vote on, and waits for the end.
    private func decide() async -> SpinCandidate? {
        var hasOffered = options.candidates.isEmpty
        var hasVoted = options.vote == nil
        for await snapshot in await relay.snapshots() where snapshot.isConnected {
            if !hasOffered {
                hasOffered = await relay.offerSpin(options.candidates)
                continue
            }
            guard let spin = snapshot.spin else { continue }
            if let decision = spin.decision { return decision }
            guard !hasVoted, let vote = options.vote else { continue }
            tell(spin)
            hasVoted = await relay.vote(vote - 1)
            say(hasVoted ? "voted for \(vote)" : "\(vote) is not on the table")
            // Another offer may follow.
            if !hasVoted { continue }
        }
        return nil
    }
}
