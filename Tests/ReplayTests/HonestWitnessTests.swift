import Replay
import Testing
import Transit
import Verification

/// Two honest riders in one vehicle, whose apps came from one network in one second.
///
/// Each has every other fix of a recorded movement. None of the recordings has an accuracy, which is the
/// worst case.
@Suite struct HonestWitnessTests {
    /// How many pairs fail what.
    private struct Tally {
        var pairs = 0
        var refused: [String] = []
        var failed: [CheckID: Int] = [:]

        mutating func add(_ name: String, _ findings: WitnessFindings) {
            pairs += 1
            if !findings.areIndependent { refused.append(name) }
            for (finding, check) in WitnessFindings.checks where findings.contains(finding) {
                failed[check, default: 0] += 1
            }
        }
    }

    private static let origin = WitnessOrigin(addressBlock: 1, installedAt: 1, build: 1)

    private static func findings(_ fixes: [RecordedFix], on journey: Journey) -> WitnessFindings {
        let evidence = [0, 1].map { parity in
            let own = fixes.enumerated().filter { $0.offset % 2 == parity }.map(\.element)
            var evidence = WitnessEvidence(origin: origin)
            for judged in ReplayedRide(own, on: journey).fixes {
                evidence.trace.add(judged.fix.point, judged.verdict)
            }
            return evidence
        }
        return WitnessFindings(evidence[0], evidence[1])
    }

    @Test func `at most one in a hundred is marked`() throws {
        var tally = Tally()
        for recording in try Recording.all() {
            // Each rider needs the points that the checks look at.
            for busTrip in recording.aboard where busTrip.fixes.count >= 2 * WitnessTrace.capacity {
                let trip = try #require(recording.index.trip(busTrip.trip.tripID))
                let journey = recording.journey(trip, on: busTrip.trip.startDate)
                tally.add(
                    "bus \(busTrip.vehicleID) on \(busTrip.trip)",
                    Self.findings(busTrip.fixes, on: journey)
                )
            }
        }
        let scheduled = tally.pairs
        for trace in try PathTrace.phones() + PathTrace.buses() {
            tally.add(trace.name, Self.findings(trace.fixes, on: trace.journey))
        }
        let failed = WitnessFindings.checks.map {
            "\($0.check.rawValue) \(tally.failed[$0.check] ?? 0)"
        }
        print(
            """
            honest pairs: \(scheduled) of scheduled buses, \(tally.pairs - scheduled) of phones and \
            buses without a schedule; refused \(tally.refused); failed \(failed.joined(separator: ", "))
            """
        )
        #expect(scheduled >= 80)
        #expect(tally.pairs >= scheduled + 10)
        #expect(tally.refused.count * 100 <= tally.pairs)
    }
}
