import Replay
import Testing
import Transit
import Verification

/// How long two honest riders of one vehicle wait until they are two witnesses.
///
/// Phones report each five seconds, and only some recordings do; between two fixes the others are carried on at
/// constant speed, which hides stops, so that the waits are rather too long.
@Suite struct WitnessWaitTests {
    /// Seconds from when the second is aboard to when both are verified, and to when they are two witnesses.
    private struct Waits {
        var verified: [Int64] = []
        var published: [Int64] = []
        var never = 0

        static func quantile(_ share: Double, of values: [Int64]) -> Int64 {
            let sorted = values.sorted()
            return sorted.isEmpty ? 0 : sorted[Int(share * Double(sorted.count - 1))]
        }

        var text: String {
            let shares = [0.25, 0.5, 0.75, 0.9].map { share in
                "\(Self.quantile(share, of: verified))/\(Self.quantile(share, of: published))"
            }
            return "\(shares.joined(separator: " ")) s, "
                + "\(never) of \(published.count + never) never"
        }
    }

    private static let interval: Int64 = 5
    /// Seconds that a pair is looked at.
    private static let limit: Int64 = 900

    /// What a phone aboard reports from some second on.
    private static func phone(
        _ fixes: [RecordedFix],
        from start: UnixSeconds
    ) -> [RecordedFix] {
        var own: [RecordedFix] = []
        var time = start
        for (from, to) in zip(fixes, fixes.dropFirst()) {
            let seconds = to.point.timestamp - from.point.timestamp
            while time < to.point.timestamp, time < start + limit {
                defer { time += interval }
                // A silence is a silence.
                guard time >= from.point.timestamp, seconds <= 60 else { continue }
                let share = Double(time - from.point.timestamp) / Double(seconds)
                let (one, other) = (from.point.coordinate, to.point.coordinate)
                own.append(
                    RecordedFix(
                        vehicleID: from.vehicleID,
                        point: Point(
                            Coordinate(
                                latitude: one.latitude + share * (other.latitude - one.latitude),
                                longitude: one.longitude + share * (other.longitude - one.longitude)
                            ),
                            accuracy: Double(5 + own.count % 3),
                            timestamp: time
                        )
                    )
                )
            }
        }
        return own
    }

    private static func wait(
        _ fixes: [RecordedFix],
        on journey: Journey,
        secondAfter lead: Int64,
        _ waits: inout Waits
    ) {
        let first = fixes[0].point.timestamp
        let rides = [first, first + lead + 2].map { start in
            ReplayedRide(phone(fixes, from: start), on: journey)
        }
        // Who was never believed waits for something else.
        guard rides.allSatisfy({ $0.verifiedAt != nil }) else { return }
        let verified = rides.compactMap(\.verifiedAt).reduce(0, max)
        var judged = rides.enumerated().flatMap { rider, ride in
            ride.fixes.map { (rider: rider, fix: $0) }
        }
        judged.sort { $0.fix.fix.point.timestamp < $1.fix.fix.point.timestamp }
        var evidence = [WitnessEvidence(), WitnessEvidence()]
        for (rider, judged) in judged {
            let point = judged.fix.point
            evidence[rider].trace.add(point, judged.verdict)
            guard point.timestamp >= verified,
                WitnessFindings(evidence[0], evidence[1]).areIndependent
            else { continue }
            waits.verified.append(verified - first - lead)
            waits.published.append(point.timestamp - first - lead)
            return
        }
        waits.never += 1
    }

    @Test(arguments: [Int64(0), 120])
    func `who boards after the first waits to be verified, and two at once a minute more`(
        lead: Int64
    ) throws {
        var waits: [(name: String, waits: Waits)] = []
        for (name, traces) in [
            ("phones", try PathTrace.phones()), ("buses without a schedule", try PathTrace.buses()),
        ] {
            var own = Waits()
            for trace in traces {
                Self.wait(trace.fixes, on: trace.journey, secondAfter: lead, &own)
            }
            waits.append((name, own))
        }
        var scheduled = Waits()
        for recording in try Recording.all() {
            for busTrip in recording.aboard {
                let trip = try #require(recording.index.trip(busTrip.trip.tripID))
                let journey = recording.journey(trip, on: busTrip.trip.startDate)
                Self.wait(busTrip.fixes, on: journey, secondAfter: lead, &scheduled)
            }
        }
        waits.append(("scheduled buses", scheduled))
        for (name, waits) in waits {
            print("verified/published, \(name), second \(lead) s after the first: \(waits.text)")
            let verified = Waits.quantile(0.5, of: waits.verified)
            let published = Waits.quantile(0.5, of: waits.published)
            #expect(published <= verified + (lead == 0 ? 90 : 0))
            #expect(100 * waits.never <= waits.published.count + waits.never)
        }
    }
}
