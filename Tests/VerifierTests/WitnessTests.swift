import Messages
import Telemetry
import TestKit
import Testing
import Transit
import Verification

@testable import VerifierService

/// Riders who are one script, from the token's facts to what is published.
@Suite(.timeLimit(.minutes(3))) struct WitnessTests {
    private let slot = Slot(of: "T1")
    private let installation = RiderInstallation(
        addressBlock: .max - 3,
        installedAt: Course.start - 99,
        build: 1 << 63
    )

    private func ride(
        _ verifier: TestVerifier,
        _ rider: Rider,
        accuracy: [Double?] = [nil, nil, nil]
    ) async throws {
        let started = await verifier.ask(
            .start(
                StartRide(
                    rideID: rider.ride,
                    riderID: rider.id,
                    tripID: rider.trip,
                    receivedAt: Course.start,
                    installation: installation
                )
            )
        )
        try #require(started.refusal == nil)
        var points = Course.points([-15, -10, -5])
        for index in points.indices { points[index].accuracy = accuracy[index] }
        let answer = await verifier.report(rider, points)
        try #require(answer.batch?.state == "verified")
    }

    @Test(arguments: [(WitnessMode.off, 1), (.count, 1), (.enforce, 0)])
    func `two riders of one script publish no trip where the checks are enforced`(
        mode: WitnessMode,
        published: Int
    ) async throws {
        try await World.with { world async throws in
            world.setWitnessChecks(mode)
            let verifier = try await world.verifier()
            for rider in [Rider(), Rider()] { try await ride(verifier, rider) }
            for _ in 0..<3 { verifier.node.publishOnce() }
            #expect(verifier.estimates(in: slot).last?.estimates.count == published)
            // Each ride once, however often it is looked at.
            let metrics = verifier.metrics.rendered()
            let count = mode == .off ? 0 : 2
            for check in ["motion", "accuracy", "install", "address"] {
                #expect(
                    metrics.contains("witness_marks_total{check=\"witness.\(check)\"} \(count)\n")
                )
            }
            #expect(metrics.contains("witness_marks_total{check=\"witness.lockstep\"} 0\n"))
        }
    }

    @Test func `two phones of one network publish, also under the next owner`() async throws {
        try await World.with { world async throws in
            world.setWitnessChecks(.enforce)
            let first = try await world.verifier("v1")
            let riders = [Rider(), Rider()]
            for rider in riders { try await ride(first, rider, accuracy: [5, 6, 5]) }
            first.node.publishOnce()
            #expect(first.estimates(in: slot).last?.estimates.first?.riders == 2)
            await first.node.close()
            let second = try await world.verifier("v2")
            second.node.publishOnce()
            #expect(second.estimates(in: slot).last?.estimates.first?.riders == 2)
            let marks = second.metrics.rendered()
            #expect(marks.contains("witness_marks_total{check=\"witness.install\"} 2\n"))
            #expect(marks.contains("witness_marks_total{check=\"witness.address\"} 2\n"))
            #expect(marks.contains("witness_marks_total{check=\"witness.accuracy\"} 0\n"))
        }
    }

    @Test func `forgets where an app came from when its ride ends`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            try await ride(verifier, rider, accuracy: [5, 6, 5])
            let columns = [
                "address_block", "install_build", "installed_at IS NULL", "witness_traits",
            ]
            #expect(
                try await world.row(columns, "FROM verifier.rides")
                    == ["-4", "-9223372036854775808", "false", "2"]
            )
            _ = await verifier.end(rider)
            #expect(
                try await world.row(
                    [
                        "address_block IS NULL AND install_build IS NULL AND installed_at IS NULL"
                    ],
                    "FROM verifier.rides"
                ) == ["true"]
            )
        }
    }
}
