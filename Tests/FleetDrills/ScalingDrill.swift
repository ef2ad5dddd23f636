import LoadKit
import TestKit
import Testing

extension Drills {
    /// Verifiers that come and go in order while rides are under way.
    @Suite(.timeLimit(.minutes(10))) struct ScalingDrill {
        @Test func `from one verifier to four and back, phones notice no more than a short wait`()
            async throws
        {
            let fleet = try await LoadFleet(programs: programs, trips: 64)
            let first = try fleet.start("verifier", "v1")
            let ingest = try fleet.start("rider-ingest", "ingest-1")
            for process in [first, ingest] { try await fleet.waitUntilReady(process) }
            let tables = Tables(fleet)
            let runner = LoadRunner(
                riders: fleet.riders(256, firstPointAge: 2),
                schedule: fleet.schedule,
                port: ingest.port,
                connections: 256
            )
            async let load = runner.run(.live(secondsBetweenReports: 2.56), for: 600)
            try await Task.sleep(for: .seconds(4))
            let rounds = DrillLength.isLong ? 5 : 1
            for _ in 0..<rounds {
                var more: [LoadProcess] = []
                for name in ["v2", "v3", "v4"] {
                    more.append(try fleet.start("verifier", name))
                    let count = more.count + 1
                    try await eventually("\(count) share evenly", within: .seconds(60)) {
                        let shares = try await tables.shares()
                        return shares.count == count && shares.reduce(0, +) == 256
                            && (shares.last ?? 0) - (shares.first ?? 0) <= 1
                    }
                }
                // Rides change hands one slot after the other.
                for verifier in more {
                    let metrics = try await fleet.get(verifier.internalPort, "/metrics")
                    let text = String(decoding: metrics.1, as: UTF8.self)
                    #expect(!text.contains("rides_active_items 0.0\n"), "it took over rides")
                    verifier.terminate()
                    try await Task.sleep(for: .seconds(2))
                }
                try await eventually("the first one owns all", within: .seconds(10)) {
                    try await tables.shares() == [256]
                }
            }
            runner.stop()
            let result = await load
            #expect(result.acknowledgements.count > 500)
            #expect(result.unanswered == 0)
            #expect(result.others.isEmpty, "\(result.others) \(result.samples)")
            let longest = result.latency(1)
            print("longest wait \((longest * 100).rounded() / 100) s")
            #expect(longest <= 2)
            try await expectTables(tables, match: runner.riders)
            await tables.close()
        }
    }
}
