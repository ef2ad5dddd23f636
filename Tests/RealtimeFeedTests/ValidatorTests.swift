import RealtimeFeed
import Testing
import Transit

/// The independent validator over a feed of ours, on the schedule that its capture belongs to.
@Suite struct ValidatorTests {
    private func validate(_ feed: FeedMessage, at time: String) throws -> Python.Outcome {
        let folder = TemporaryFolder()
        try File.write(feed.encoded(), to: folder.path + "/feed.pb")
        let reports = TemporaryFolder()
        return Python.run(
            Python.root + "/.venv/bin/gtfs-rt-validator",
            "-gtfs",
            Python.captures + "/../feeds/raba.gtfs.zip",
            "-vp",
            folder.path + "/feed.pb",
            "--at",
            time,
            "--fail-on-error",
            "--out",
            reports.path
        )
    }

    private func capture() throws -> FeedMessage {
        try FeedMessage(
            decoding: try File.read(Python.captures + "/raba-vehicle-positions.pb")
        )
    }

    // The capture's header is 2025-06-08 21:08:26 UTC.
    private static let time = "2025-06-08T21:08:31Z"

    @Test(.timeLimit(.minutes(1))) func `the validator finds no error in a feed of ours`() throws {
        let outcome = try validate(try capture(), at: Self.time)
        #expect(outcome.status == 0, "\(outcome.output)")
    }

    @Test(.timeLimit(.minutes(1))) func `the validator finds what our rules find`() throws {
        var feed = try capture()
        feed.entities[0].vehicle?.position?.bearing = 400
        let time = try #require(feed.header.timestamp)
        #expect(feed.complianceFindings(now: time).contains { $0.ruleID == "E027" })
        let outcome = try validate(feed, at: Self.time)
        #expect(outcome.status != 0, "\(outcome.output)")
    }
}
