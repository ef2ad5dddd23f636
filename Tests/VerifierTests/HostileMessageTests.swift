import Messages
import Telemetry
import TestKit
import Testing
import Transit

@testable import VerifierService

/// Messages on the bus that no ingest sends: counted, answered as invalid, and of no consequence.
@Suite(.timeLimit(.minutes(2))) struct HostileMessageTests {
    private func send(_ body: [UInt8], to verifier: TestVerifier) async -> RideReply? {
        try? RideReply(decoding: await verifier.answer(body))
    }

    private func counted(_ verifier: TestVerifier) -> Int {
        let line = verifier.metrics.rendered().split(separator: "\n")
            .first { $0.hasPrefix("ride_requests_undecodable_total ") }
        return line.flatMap { Int($0.split(separator: " ")[1]) } ?? -1
    }

    @Test func `what does not decode is counted and answered`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let bodies: [[UInt8]] = [
                [], [0], [0xFF, 0xFF, 0xFF], Array(repeating: 0x0A, count: 100_000),
                Array("{\"positions\":[]}".utf8),
            ]
            for body in bodies {
                #expect(await send(body, to: verifier)?.body.refusal == .invalid)
            }
            #expect(counted(verifier) == bodies.count)
        }
    }

    /// A report with something that JSON cannot carry.
    @Test func `reports that no phone's JSON could carry change nothing`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            let good = Course.points([-20])[0]
            var strange: [[ReportedPoint]] = [[], Array(repeating: good, count: 13)]
            strange.append(Array(repeating: good, count: 10_000))
            for value in [Double.infinity, -.infinity] {
                for path in [\ReportedPoint.latitude, \.longitude] {
                    var point = good
                    point[keyPath: path] = value
                    strange.append([point])
                }
                for path in [\ReportedPoint.accuracy, \.speed, \.bearing] {
                    var point = good
                    point[keyPath: path] = value
                    strange.append([good, point])
                }
            }
            var nowhere = good
            nowhere.latitude = .nan
            strange.append([nowhere])
            for points in strange {
                #expect(await verifier.report(rider, points).refusal == .invalid)
            }
            #expect(counted(verifier) == strange.count)
            #expect(
                try await world.row(
                    ["points_total", "(SELECT count(*) FROM verifier.ride_points)"],
                    "FROM verifier.rides"
                ) == ["0", "0"]
            )
            // Nothing of it was charged to the rider either.
            #expect(await verifier.report(rider, [good]).batch?.accepted == 1)
        }
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max]) func `a time at the end of time is ignored`(
        time: UnixSeconds
    ) async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            var point = Course.points([-20])[0]
            point.timestamp = time
            #expect(await verifier.report(rider, [point]).batch?.ignored == 1)
            #expect(try await world.number("SELECT count(*) FROM verifier.ride_points") == 0)
        }
    }

    @Test func `a page of any size and place is answered within its bounds`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            for (limit, offset) in [(0, 0), (4_294_967_295, 0), (1, 4_294_967_295)] {
                let query = RideListQuery(status: .ended, limit: limit, offset: offset)
                #expect(
                    await verifier.ask(.rides(query))
                        == .rides(RideListReply(rides: [], hasMore: false))
                )
            }
        }
    }

    @Test func `requests with changed bytes never trap and never store for a stranger`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            let request = RideRequest(
                requestID: .random(),
                trace: .random(),
                body: .positions(
                    ReportPositions(
                        rideID: rider.ride,
                        riderID: .random(),
                        points: Course.points([-20, -15]),
                        receivedAt: Course.start
                    )
                )
            )
            let bytes = request.encoded()
            for place in bytes.indices {
                for bit in [0x01, 0x80] as [UInt8] {
                    var changed = bytes
                    changed[place] ^= bit
                    let answer = await send(changed, to: verifier)
                    #expect(answer?.body.batch == nil, "byte \(place)")
                }
            }
            #expect(try await world.number("SELECT count(*) FROM verifier.ride_points") == 0)
            #expect(await verifier.report(rider, Course.points([-20])).batch?.accepted == 1)
        }
    }

    @Test func `a slot table that does not decode is counted and changes nothing`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.idleVerifier()
            verifier.node.heard([0xFF])
            #expect(
                verifier.metrics.rendered()
                    .contains("publications_undecodable_total{topic=\"slots\"} 1\n")
            )
        }
    }
}
