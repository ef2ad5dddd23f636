import Foundation
import LoadKit
import RealtimeFeed
import TestKit
import Testing
import Transit
import Web

extension Drills {
    /// The promises of architecture section 10 on thirteen hosts with a network between them.
    ///
    /// It makes network namespaces, so it runs as root, in the long form alone.
    @Suite(.enabled(if: DrillLength.isLong && geteuid() == 0), .timeLimit(.minutes(20)))
    struct NetworkDrill {
        /// One fault: how it begins and ends, and how long a batch may wait because of it.
        private struct Fault: Sendable {
            let name: String
            /// Seconds; beside what section 10 promises there is a busy machine and a debug build.
            let limit: Double
            /// Seconds that it lasts.
            let lasts: Double
            let begin: @Sendable (NetworkFleet) async throws -> Void
            let end: @Sendable (NetworkFleet) async throws -> Void
        }

        private static let faults: [Fault] = [
            Fault(name: "a verifier's host dies", limit: 8, lasts: 6) { fleet in
                try fleet.host("verifier-1").pullPlug()
            } end: { fleet in
                try fleet.plugIn("verifier-1")
                try await fleet.waitUntilReady("verifier-1")
            },
            Fault(name: "a verifier freezes", limit: 8, lasts: 8) { fleet in
                try fleet.host("verifier-2").freeze()
            } end: { fleet in
                try fleet.host("verifier-2").thaw()
            },
            Fault(name: "a verifier is cut off", limit: 8, lasts: 8) { fleet in
                try fleet.host("verifier-2").cut()
            } end: { fleet in
                try fleet.host("verifier-2").heal()
            },
            Fault(name: "a verifier loses 20 % of packets", limit: 15, lasts: 10) { fleet in
                try fleet.host("verifier-1").lose(percent: 20)
            } end: { fleet in
                try fleet.host("verifier-1").loseNothing()
            },
            Fault(name: "an ingest sends 256 kbit/s", limit: 10, lasts: 8) { fleet in
                try fleet.host("ingest-1").slow(kilobitsPerSecond: 256)
            } end: { fleet in
                try fleet.host("ingest-1").speedUp()
            },
            Fault(name: "the database is 40 ms away", limit: 15, lasts: 8) { fleet in
                try fleet.delay(milliseconds: 40)
            } end: { fleet in
                try fleet.delay(milliseconds: 0)
            },
            Fault(name: "an ingest's host dies", limit: 12, lasts: 6) { fleet in
                try fleet.host("ingest-2").pullPlug()
            } end: { fleet in
                try fleet.plugIn("ingest-2")
                try await fleet.waitUntilReady("ingest-2")
            },
            Fault(name: "the feed's builder freezes", limit: 5, lasts: 10) { fleet in
                try fleet.host(try await fleet.builder()).freeze()
            } end: { fleet in
                for name in ["feed-1", "feed-2"] { try fleet.host(name).thaw() }
            },
            Fault(name: "the feed's builder is cut off", limit: 5, lasts: 10) { fleet in
                try fleet.host(try await fleet.builder()).cut()
            } end: { fleet in
                for name in ["feed-1", "feed-2"] { try fleet.host(name).heal() }
            },
            Fault(name: "auth is cut off", limit: 5, lasts: 8) { fleet in
                try fleet.host("auth-1").cut()
            } end: { fleet in
                try fleet.host("auth-1").heal()
            },
            Fault(name: "one of the groups is cut off", limit: 5, lasts: 6) { fleet in
                try fleet.host("groups-1").cut()
            } end: { fleet in
                try fleet.host("groups-1").heal()
            },
            Fault(name: "the database restarts", limit: 15, lasts: 3) { fleet in
                try await fleet.postgres.stop()
            } end: { fleet in
                try await fleet.postgres.start()
            },
            Fault(name: "all verifiers are cut off", limit: 30, lasts: 10) { fleet in
                for number in 1...3 { try fleet.host("verifier-\(number)").cut() }
            } end: { fleet in
                for number in 1...3 { try fleet.host("verifier-\(number)").heal() }
            },
        ]

        /// Seconds between the end of a fault and the next one.
        private static let rest = 12.0

        @Test func `every fault is a wait, and nothing that was acknowledged is lost`() async throws
        {
            let fleet = try await NetworkFleet(trips: 64)
            let watch = GatewayWatch()
            await watch.start { await Self.look(fleet) }
            let runner = LoadRunner(
                riders: LoadFleet.riders(
                    200,
                    on: fleet.schedule,
                    signedWith: try fleet.signingSecret,
                    firstPointAge: 2
                ),
                schedule: fleet.schedule,
                host: fleet.gatewayAddress,
                port: NetworkFleet.gatewayPort,
                connections: 200
            )
            async let load = runner.run(.live(secondsBetweenReports: 4), for: 1000, drain: 60)
            try await Task.sleep(for: .seconds(15))

            var spans: [(fault: Fault, span: ClosedRange<Double>, recovery: Double)] = []
            for fault in Self.faults {
                let start = LoadRunner.now
                try await fault.begin(fleet)
                try await Task.sleep(for: .seconds(fault.lasts))
                try await fault.end(fleet)
                let healed = LoadRunner.now
                try await Task.sleep(for: .seconds(Self.rest))
                spans.append((fault, start...LoadRunner.now, healed - start))
                print("\(fault.name): done")
            }
            runner.stop()
            let result = await load
            await watch.stop()

            var table = FaultTable()
            for (fault, span, _) in spans {
                let waits = result.acknowledgements.filter { span.contains($0.sentAt) }
                let longest = waits.map(\.seconds).max() ?? .infinity
                table.add(
                    FaultTable.Row(
                        fault: fault.name,
                        seen: "\(waits.count) batches acknowledged",
                        longestWait: longest,
                        longestFeedGap: await watch.longestGap(span),
                        limit: fault.limit
                    )
                )
                #expect(!waits.isEmpty, "\(fault.name): the load was there")
                #expect(longest <= fault.limit, "\(fault.name)")
                let isOfFeed = fault.name.contains("feed")
                #expect(await watch.longestGap(span) <= (isOfFeed ? 8 : 12), "\(fault.name)")
                // The builder is replaced within 5 s; without change a header stands for 15.
                #expect(await watch.longestStandstill(span) <= 22, "\(fault.name)")
            }
            print(table.text)
            print("answers that were no acknowledgement: \(result.others)")
            for step in await watch.stepsBack {
                let fault = spans.first { $0.span.contains(step.at) }
                let since = fault.map { step.at - $0.span.lowerBound }
                Issue.record(
                    "the header went back by \(step.seconds) s, \(since ?? 0) s after \(fault?.fault.name ?? "no fault")"
                )
            }
            #expect(
                result.others.keys.allSatisfy { [0, 429, 503].contains($0) },
                "\(result.samples)"
            )
            #expect(result.unanswered == 0)
            let tables = Tables(url: fleet.databaseURL)
            try await expectTables(tables, match: runner.riders)
            await tables.close()
        }

        private static func look(_ fleet: NetworkFleet) async -> (header: Int64, entities: Int)? {
            guard let answer = try? await fleet.get("/gtfs-rt/vehicle-positions"),
                answer.status == 200, let message = try? FeedMessage(decoding: answer.body)
            else { return nil }
            return (Int64(message.header.timestamp ?? 0), message.entities.count)
        }
    }
}
