internal import Glibc
internal import LoadKit
internal import RealtimeFeed
internal import Transit

/// What it costs to serve a feed of 10,000 vehicles, beside nginx that serves the same bytes as a file.
///
/// nginx is one process with sendfile, an agency serves the vehicles and is asked once. Pairs take turns; each
/// ratio is what one side does for a second of CPU over what the other does.
enum ServingBench {
    private static let vehicles = 10_000
    private static let pairs = 5
    private static let seconds = 1.0

    static func run() async -> Int32 {
        do {
            return try await measure() ? 0 : 1
        } catch {
            print("bench feed, serving: \(error)")
            return 1
        }
    }

    /// A kind of request, what our side and nginx are asked for, and the least ratio.
    private struct Kind {
        let name: String
        let ours: GetLoad
        let theirs: GetLoad
        let isByBytes: Bool
        let bar: Double
    }

    private static func measure() async throws -> Bool {
        let fleet = try await LoadFleet(programs: BenchProcess.programs(), trips: 16)
        let nginx = try StaticServer()
        try nginx.put(BenchAgency.feed(of: vehicles).encoded(), as: "agency.pb")
        let feed = try fleet.start(
            "feed",
            "feed-1",
            [
                "RIDER_MODE_ENABLED": "false", "FEED_INCLUDE_AGENCY": "true",
                "TRUSTED_GTFS_RT_URLS": nginx.url("agency.pb"), "TRUSTED_FEED_POLL": "3600s",
                "TRUSTED_FEED_MAX_AGE": "3600s",
            ]
        )
        try await fleet.waitUntilReady(feed)
        let path = "/gtfs-rt/vehicle-positions"
        let body = try await BenchAgency.whole(fleet, feed.port, path, of: vehicles)
        let small = try await fleet.get(feed.port, "/feeds.json").1
        try nginx.put(body, as: "body.pb")
        try nginx.put(small, as: "small.json")
        let other = nginx.process.port
        let kinds = [
            Kind(
                name: "full body, \(body.count) bytes",
                ours: GetLoad(port: feed.port, path: path),
                theirs: GetLoad(port: other, path: "/body.pb"),
                isByBytes: true,
                bar: 0.8
            ),
            Kind(
                name: "304",
                ours: GetLoad(port: feed.port, path: path, isConditional: true),
                theirs: GetLoad(port: other, path: "/body.pb", isConditional: true),
                isByBytes: false,
                bar: 0.5
            ),
            Kind(
                name: "small answer, \(small.count) bytes",
                ours: GetLoad(port: feed.port, path: "/feeds.json"),
                theirs: GetLoad(port: other, path: "/small.json"),
                isByBytes: false,
                bar: 0.5
            ),
        ]
        print("serving it, per second of CPU; medians of \(pairs) pairs with nginx")
        var isEnough = true
        for kind in kinds {
            var pairs: [(ours: Double, theirs: Double)] = []
            for _ in 0..<Self.pairs {
                pairs.append(
                    (
                        try work(kind.ours, of: feed, kind.isByBytes),
                        try work(kind.theirs, of: nginx.process, kind.isByBytes)
                    )
                )
            }
            let ratio = BenchText.median(pairs.map { $0.ours / $0.theirs })
            let unit = kind.isByBytes ? "MB" : "answers"
            let scale = kind.isByBytes ? 1e6 : 1
            print(
                "  \(kind.name): \(BenchText.whole(BenchText.median(pairs.map(\.ours)) / scale)) "
                    + "\(unit), nginx \(BenchText.whole(BenchText.median(pairs.map(\.theirs)) / scale)), "
                    + "ours / nginx \(BenchText.hundredths(ratio))   (bar \(kind.bar))"
            )
            isEnough = isEnough && ratio >= kind.bar
        }
        return isEnough
    }

    /// Bytes or answers for a second of a server's CPU.
    private static func work(
        _ load: GetLoad,
        of process: LoadProcess,
        _ isByBytes: Bool
    ) throws -> Double {
        let before = process.cpuSeconds
        let result = try load.run(for: seconds)
        let spent = process.cpuSeconds - before
        // A feed is dated anew now and then, after which each connection gets it whole once.
        guard result.answers > 10 * result.others, spent > 0 else {
            throw LoadFailure("\(result.others) of \(result.answers) answers are others")
        }
        return Double(isByBytes ? result.bytes : result.answers) / spent
    }
}
