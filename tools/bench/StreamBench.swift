internal import Glibc
internal import LoadKit
internal import RealtimeFeed

/// What a hundred readers of `/gtfs-rt/stream` who stop reading cost the nine hundred who go on.
///
/// An agency moves its vehicles each second, so every reader gets an update of each. A delay is the time from the
/// first byte that any reader gets of a second's updates to the last one that a reader gets. Rounds take turns.
enum StreamBench {
    private static let vehicles = 100
    private static let reading = 900
    private static let stalled = 100
    private static let rounds = 5
    /// Until those who do not read are sent nothing more; some seconds after the measured ones they are cut.
    private static let filling = 2.0
    private static let seconds = 4.0

    static func run() async -> Int32 {
        do {
            return try await measure() ? 0 : 1
        } catch {
            print("bench stream: \(error)")
            return 1
        }
    }

    private struct Round {
        /// Of each second, what 99 of 100 readers waited for its updates.
        let delays: [Double]
        let memory: Double
        let cpu: Double
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
                "TRUSTED_GTFS_RT_URLS": nginx.url("agency.pb"), "TRUSTED_FEED_POLL": "1s",
            ]
        )
        try await fleet.waitUntilReady(feed)
        let path = "/gtfs-rt/vehicle-positions"
        _ = try await BenchAgency.whole(fleet, feed.port, path, of: vehicles)
        let moving = Task {
            var step = 0
            while !Task.isCancelled {
                step += 1
                let next = BenchAgency.feed(of: vehicles, step: step)
                try? nginx.put(next.encoded(), as: "agency.pb")
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
        defer { moving.cancel() }
        var (alone, beside): ([Round], [Round]) = ([], [])
        for _ in 0..<rounds {
            alone.append(try await round(feed, stalled: 0))
            beside.append(try await round(feed, stalled: stalled))
        }
        let delays = (
            BenchText.median(alone.flatMap(\.delays)), BenchText.median(beside.flatMap(\.delays))
        )
        let memory = (
            BenchText.median(alone.map(\.memory)), BenchText.median(beside.map(\.memory))
        )
        let ratios = zip(beside, alone).map {
            BenchText.median($0.delays) / BenchText.median($1.delays)
        }
        .sorted()
        let cpu = (BenchText.median(alone.map(\.cpu)), BenchText.median(beside.map(\.cpu)))
        print("\(reading) readers, \(vehicles) updates a second; medians of \(rounds)")
        print(
            "  p99 of a second's updates: \(BenchText.hundredths(delays.0 * 1000)) ms, beside "
                + "\(stalled) who stop reading \(BenchText.hundredths(delays.1 * 1000)) ms, "
                + "ratio \(BenchText.hundredths(delays.1 / delays.0))   (bar 1.1)"
        )
        print(
            "  the rounds' own ratios: "
                + ratios.map { BenchText.hundredths($0) }.joined(separator: ", ")
        )
        print(
            "  CPU of the process in a second: \(BenchText.hundredths(cpu.0 * 1000)) ms, beside them "
                + "\(BenchText.hundredths(cpu.1 * 1000)) ms"
        )
        print(
            "  memory: \(BenchText.hundredths(memory.0)) MB, beside them "
                + "\(BenchText.hundredths(memory.1)) MB   (bar: 20 MB more)"
        )
        return delays.1 <= 1.1 * delays.0 && memory.1 - memory.0 <= 20
    }

    private static func round(_ feed: LoadProcess, stalled: Int) async throws -> Round {
        let load = try StreamLoad(
            port: feed.port,
            path: "/gtfs-rt/stream",
            reading: reading,
            stalled: stalled
        )
        _ = load.run(for: filling)
        let before = feed.cpuSeconds
        let result = load.run(for: seconds)
        let cpu = (feed.cpuSeconds - before) / seconds
        guard result.lost == 0, !result.delays.isEmpty else {
            throw LoadFailure("\(result.lost) readers were cut off")
        }
        return Round(delays: result.delays(at: 0.99), memory: feed.residentBytes / 1e6, cpu: cpu)
    }
}
