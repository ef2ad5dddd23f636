import LoadKit
import TestKit
import Testing

extension Drills {
    /// Verifiers that die and freeze under load (architecture, sections 5 and 10).
    @Suite(.timeLimit(.minutes(10))) struct FailoverDrill {
        private enum Fault: String {
            case kill
            case freeze

            /// How long a batch may wait for another owner, in seconds.
            var longestGap: Double { self == .kill ? 2 : 5 }
        }

        @Test func `no acknowledged point is lost or counted twice, and published trips stay`()
            async throws
        {
            let fleet = try await LoadFleet(programs: programs, trips: 64)
            var verifiers = try ["v1", "v2"].map { try fleet.start("verifier", $0) }
            let ingest = try fleet.start("rider-ingest", "ingest-1")
            let feed = try fleet.start("feed", "feed-1")
            for process in verifiers + [ingest, feed] { try await fleet.waitUntilReady(process) }
            let tables = Tables(fleet)
            try await eventually("both own half", within: .seconds(10)) {
                try await tables.shares() == [128, 128]
            }

            // 200 batches a second, each of what its phone measured since the last one.
            let seconds = DrillLength.isLong ? 300.0 : 34.0
            let riders = fleet.riders(512, firstPointAge: 2)
            let runner = LoadRunner(
                riders: riders,
                schedule: fleet.schedule,
                port: ingest.port,
                connections: 512
            )
            async let load = runner.run(.live(secondsBetweenReports: 2.56), for: seconds)
            let watch = FeedWatch()
            try await Task.sleep(for: .seconds(8))
            await watch.start(fleet, feed)
            let before = await watch.published.count
            #expect(before == 0, "the first look comes with the first fault")

            var faults: [(fault: Fault, at: Double, shares: [Int])] = []
            let pause = DrillLength.isLong ? 20.0 : 12.0
            var at = LoadRunner.now
            let end = at + seconds - 8 - 11
            while at < end {
                let fault = faults.count.isMultiple(of: 2) ? Fault.kill : .freeze
                // Each of them dies and freezes in turn, while it has rides.
                let index = (faults.count + faults.count / 2) % 2
                faults.append((fault, LoadRunner.now, try await tables.shares()))
                switch fault {
                case .kill:
                    verifiers[index].kill()
                    try await Task.sleep(for: .seconds(3))
                    verifiers[index] = try fleet.start("verifier", verifiers[index].instance)
                case .freeze:
                    verifiers[index].freeze()
                    try await Task.sleep(for: .seconds(7))
                    verifiers[index].thaw()
                }
                at += pause
                try await Task.sleep(for: .seconds(max(0, at - LoadRunner.now)))
            }
            let result = await load
            await watch.stop()

            #expect(result.acknowledgements.count > Int(seconds * 150), "the load was there")
            #expect(result.unanswered == 0)
            #expect(
                result.others.keys.allSatisfy { [0, 429, 503].contains($0) },
                "\(result.samples)"
            )
            for (fault, time, shares) in faults {
                let gap =
                    result.acknowledgements
                    .filter { $0.sentAt >= time - 3 && $0.sentAt < time + pause - 3 }
                    .map(\.seconds).max() ?? 0
                let seconds = (gap * 100).rounded() / 100
                print("\(fault.rawValue): longest gap \(seconds) s, slots before \(shares)")
                #expect(gap <= fault.longestGap, "after a \(fault.rawValue)")
                // A fault of one that owns nothing tests nothing.
                #expect(shares.count == 2 && shares[0] > 64, "\(shares)")
            }
            print("answers that were no acknowledgement: \(result.others) \(result.samples)")
            try await expectTables(tables, match: runner.riders)
            let (published, vanished, looks) = await (watch.published, watch.vanished, watch.looks)
            #expect(published.count == fleet.schedule.trips.count)
            #expect(vanished.isEmpty)
            #expect(looks > Int(seconds))
            await tables.close()
        }
    }
}
