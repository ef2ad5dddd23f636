internal import Glibc
internal import LoadKit
internal import Telemetry

/// Batches of twelve points from HTTP to COMMIT, beside a bare libpq writer of the same rows.
///
/// Simulated phones report over 256 connections to one rider-ingest, as fast as answers come. The bars: half of the bare
/// writer's batches, 150 µs of CPU of ours for a batch, 100 ms for 99 of 100 batches at half load, and with two verifiers nine tenths
/// of one.
enum IngestBench {
    /// Twice the batches of the peer's transaction: while one is committed, the next must be able to
    /// arrive.
    private static let connections = 256
    /// Batches in one transaction of the peer.
    private static let peerBatches = 128
    /// As each may report every two seconds, they ask for some 5,900 batches a second, which is what the peer writes; a faster
    /// service is shown as that fast, and none hears 429.
    private static let phones = 12_000
    /// Seconds before now at which the phones begin: backlog enough for the whole run, and younger than
    /// the 600 s beyond which a point is too old.
    private static let backlog: Int64 = 400
    private static let trips = 512
    private static let pairs = 5
    /// Of one batch each, between runs at half load: what a wait for the disk is at that moment.
    private static let peerCommits = 100
    private static let seconds = 5.0

    static func run() async -> Int32 {
        do {
            return try await measure() ? 0 : 1
        } catch {
            print("bench ingest: \(error)")
            return 1
        }
    }

    private static func measure() async throws -> Bool {
        let fleet = try await LoadFleet(programs: BenchProcess.programs(), trips: trips)
        let one = try fleet.start("verifier", "v1")
        let two = try fleet.start("verifier", "v2")
        let ingest = try fleet.start("rider-ingest", "ingest-1")
        for process in [one, two, ingest] { try await fleet.waitUntilReady(process) }
        let runner = LoadRunner(
            riders: fleet.riders(phones, firstPointAge: backlog),
            schedule: fleet.schedule,
            port: ingest.port,
            connections: connections
        )
        let flatOut = LoadRunner.Pace.backlog(secondsBetweenReports: 2)
        while runner.riders.contains(where: { $0.ride == nil }) {
            try check(await runner.run(.backlog(secondsBetweenReports: 10), for: 10))
        }

        var shared: [Double] = []
        for _ in 0..<pairs {
            let result = try check(await runner.run(flatOut, for: seconds))
            shared.append(rate(result))
        }
        two.terminate()
        let peer = try BareWriter(
            url: fleet.peerURL,
            rides: phones,
            now: Timestamps.nowMilliseconds() / 1000
        )
        var alone: [Double] = []
        var bare: [Double] = []
        var cpu: [Double] = []
        var load: [Double] = []
        for _ in 0..<pairs {
            let before = (ours: ingest.cpuSeconds + one.cpuSeconds, load: loadSeconds)
            let result = try check(await runner.run(flatOut, for: seconds))
            let batches = Double(result.acknowledgements.count)
            alone.append(rate(result))
            cpu.append((ingest.cpuSeconds + one.cpuSeconds - before.ours) / batches * 1e6)
            load.append((loadSeconds - before.load) / batches * 1e6)
            bare.append(try rate(of: peer))
        }
        let half = median(alone) / 2
        let calm = LoadRunner.Pace.backlog(secondsBetweenReports: Double(phones) / half)
        var waits: [Double] = []
        var commits: [Double] = []
        for _ in 0..<pairs {
            waits += try check(await runner.run(calm, for: 4)).acknowledgements.map(\.seconds)
            commits += try (0..<peerCommits).map { _ in try timeOfOneCommit(by: peer) }
        }
        let latency = percentile(99, of: waits) * 1000
        let ratio = median(zip(alone, bare).map { $0 / $1 })
        let scaled = median(shared) / median(alone)
        print("batches of 12, \(connections) connections, \(phones) rides; medians of \(pairs)")
        print("  one verifier      \(whole(median(alone))) batches/s")
        print("  bare libpq        \(whole(median(bare))) batches/s")
        print("  ours / bare       \(hundredths(ratio))   (bar 0.5)")
        print("  CPU of ours       \(whole(median(cpu))) us for a batch   (bar 150)")
        print("  CPU of the phones \(whole(median(load))) us for a batch, on the same machine")
        print("  p99 at half load  \(hundredths(latency)) ms   (bar 100)")
        print(
            "  p50 and, of bare libpq that commits one batch at a time, p50 and p99  "
                + [
                    percentile(50, of: waits), percentile(50, of: commits),
                    percentile(99, of: commits),
                ]
                .map { hundredths($0 * 1000) }.joined(separator: ", ") + " ms"
        )
        print("  two / one         \(hundredths(scaled))   (bar 0.9)")
        return ratio >= 0.5 && median(cpu) <= 150 && latency <= 100 && scaled >= 0.9
    }

    /// A run in which every answer was an acknowledgement.
    @discardableResult
    private static func check(_ result: LoadResult) throws -> LoadResult {
        guard result.others.isEmpty, result.unanswered == 0 else {
            throw LoadFailure(
                "not every batch was acknowledged: \(result.others) \(result.samples), "
                    + "\(result.unanswered) unanswered"
            )
        }
        return result
    }

    private static func rate(_ result: LoadResult) -> Double {
        Double(result.acknowledgements.count) / result.duration
    }

    private static func rate(of peer: BareWriter) throws -> Double {
        let start = LoadRunner.now
        var batches = 0
        while LoadRunner.now < start + seconds {
            try peer.commit(peerBatches)
            batches += peerBatches
        }
        return Double(batches) / (LoadRunner.now - start)
    }

    private static func timeOfOneCommit(by peer: BareWriter) throws -> Double {
        let start = LoadRunner.now
        try peer.commit(1)
        return LoadRunner.now - start
    }

    private static func percentile(_ share: Int, of values: [Double]) -> Double {
        values.sorted()[min(values.count - 1, values.count * share / 100)]
    }

    /// Seconds of CPU of this process, which plays the phones.
    private static var loadSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
    }

    /// The folder of this program, and of the services beside it.
    static func programs() -> String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let text = String(decoding: path.prefix(max(0, count)).map(UInt8.init), as: UTF8.self)
        return text.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }
    private static func median(_ values: [Double]) -> Double { BenchText.median(values) }

    private static func whole(_ value: Double) -> String { BenchText.whole(value) }

    private static func hundredths(_ value: Double) -> String { BenchText.hundredths(value) }
}
