import Messages
import TestKit
import Testing
import Transit
import Verification

@testable import VerifierService

/// Requests made up from a seed, sent once for one rider and again and again for another.
@Suite(.timeLimit(.minutes(3))) struct RepeatPropertyTests {
    /// A request with the id that all its repeats carry.
    private struct Sent {
        let body: RideRequest.Body
        let id = UniqueID.random()
    }

    private struct Story {
        let batches: [[ReportedPoint]]
        let reason: String?

        /// Batches along the trip, some beside it, out of order or of the past, and perhaps an end.
        init(seed: Int) {
            var random = SeededGenerator(seed: seed)
            var offset = Int64(-150)
            batches = (0..<6).map { _ in
                let isBeside = Int.random(in: 0..<4, using: &random) == 0
                let count = Int64.random(in: 1...4, using: &random)
                offset += 5 * count - Int64.random(in: 0...5, using: &random)
                let times = stride(from: offset, to: offset + 5 * count, by: 5)
                return Course.points(
                    Array(times).shuffled(using: &random),
                    east: isBeside ? 0.01 : 0
                )
            }
            reason = ["arrived", "superseded", nil].randomElement(using: &random) ?? nil
        }

        func requests(of rider: Rider) -> [Sent] {
            let start = StartRide(
                rideID: rider.ride,
                riderID: rider.id,
                tripID: rider.trip,
                receivedAt: Course.start
            )
            let reports = batches.map { points in
                ReportPositions(
                    rideID: rider.ride,
                    riderID: rider.id,
                    points: points,
                    receivedAt: Course.start
                )
            }
            var bodies = [RideRequest.Body.start(start)] + reports.map { .positions($0) }
            switch reason {
            case "superseded":
                bodies.append(
                    .supersede(
                        SupersedeRide(
                            rideID: rider.ride,
                            riderID: rider.id,
                            receivedAt: Course.start
                        )
                    )
                )
            case let reason?:
                bodies.append(
                    .end(
                        EndRide(
                            rideID: rider.ride,
                            riderID: rider.id,
                            reason: reason,
                            receivedAt: Course.start
                        )
                    )
                )
            case nil: break
            }
            return bodies.map(Sent.init)
        }
    }

    /// Everything stored about a rider, without ids.
    private func rows(_ world: World, of rider: Rider) async throws -> [String?] {
        let rides = "verifier.rides r WHERE r.rider_id = '\(rider.id)'"
        let ride = "to_jsonb(r) - 'id' - 'rider_id' - 'ended_by' - 'batch_answer'"
        let points = """
            SELECT string_agg((to_jsonb(p) - 'ride_id')::text, ' ' ORDER BY p.timestamp)
            FROM verifier.ride_points p WHERE p.ride_id = '\(rider.ride)'
            """
        let standing = """
            SELECT to_jsonb(s) - 'rider_id' FROM verifier.rider_reputation s
            WHERE s.rider_id = '\(rider.id)'
            """
        return try await world.row([ride, points, standing], "FROM \(rides)")
    }

    @Test(arguments: 0..<6)
    func `repeating any request changes nothing`(seed: Int) async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let once = Rider()
            let often = Rider()
            let story = Story(seed: seed)
            let plain = story.requests(of: once)
            let repeated = story.requests(of: often)
            var random = SeededGenerator(seed: seed + 1000)
            for index in plain.indices {
                let expected = await verifier.ask(plain[index].body, requestID: plain[index].id)
                let answer = await verifier.ask(repeated[index].body, requestID: repeated[index].id)
                #expect(answer == expected)
                for _ in 0..<Int.random(in: 0...2, using: &random) {
                    world.pass(2)
                    _ = await verifier.ask(repeated[index].body, requestID: repeated[index].id)
                    // One of long ago, late on its way.
                    let late = repeated[Int.random(in: 0...index, using: &random)]
                    world.pass(2)
                    _ = await verifier.ask(late.body, requestID: late.id)
                }
                world.pass(2)
            }
            #expect(try await rows(world, of: often) == rows(world, of: once))
        }
    }
}
