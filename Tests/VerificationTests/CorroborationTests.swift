import Testing
import Transit

@testable import Verification

@Suite struct CorroborationTests {
    private func verdict(
        gap: Double,
        skew: Int64,
        east: Double = 0,
        maxSkew: Int64? = nil
    ) -> Verdict {
        var thresholds = Thresholds()
        thresholds.corroborationMaxSkewSeconds = maxSkew
        let time = Fixture.due(250)
        let point = Fixture.point(along: 250, east: east, at: time)
        let place = Fixture.straight.project(point.coordinate).alongShape
        return verify(
            point,
            on: Fixture.journey,
            previous: nil,
            lastAcceptedAt: nil,
            trusted: TrustedPosition(alongShape: place + gap, timestamp: time - skew),
            now: time,
            thresholds: thresholds
        )
    }

    /// Skew in seconds, the last gap that agrees, the last gap that does not contradict.
    @Test(
        arguments: [
            (Int64(0), 150.0, 650.0), (30, 1_200, 1_700), (60, 2_250, 2_750), (120, 4_350, 4_850),
            (300, 10_650, 11_150),
        ],
        [Int64(1), -1]
    )
    func `allows a gap that grows with the time between the fixes`(
        row: (Int64, Double, Double),
        sign: Int64
    ) {
        let skew = row.0 * sign
        let nearly = 0.001
        #expect(verdict(gap: row.1 - nearly, skew: skew).corroboration == .corroborated)
        #expect(verdict(gap: -row.1 + nearly, skew: skew).corroboration == .corroborated)
        #expect(verdict(gap: row.1 + nearly, skew: skew).corroboration == .none)
        #expect(verdict(gap: row.2 - nearly, skew: skew).corroboration == .none)
        #expect(verdict(gap: row.2 + nearly, skew: skew).corroboration == .contradicted)
        #expect(verdict(gap: row.2 + nearly, skew: skew).outcome == .matched)
    }

    @Test(arguments: [
        (50.0, Int64(0), Corroboration.corroborated), (450, 10, .corroborated), (400, 0, .none),
        (700, 0, .contradicted),
    ])
    func `weighs the documented gaps`(gap: Double, skew: Int64, expected: Corroboration) {
        #expect(verdict(gap: gap, skew: skew).corroboration == expected)
    }

    @Test func `includes both limits`() {
        var thresholds = Thresholds()
        // A point on the very start of the shape has exactly 0 m, so the gaps are exact.
        func corroboration(_ gap: Double) -> Corroboration {
            verify(
                Fixture.point(along: 0, at: Fixture.eight),
                on: Fixture.journey,
                previous: nil,
                lastAcceptedAt: nil,
                trusted: TrustedPosition(alongShape: gap, timestamp: Fixture.eight),
                now: Fixture.eight,
                thresholds: thresholds
            ).corroboration
        }
        #expect(corroboration(150) == .corroborated)
        #expect(corroboration(150.0.nextUp) == .none)
        #expect(corroboration(650) == .none)
        #expect(corroboration(650.0.nextUp) == .contradicted)
        thresholds.corroborationBaseMeters = 0
        #expect(corroboration(150) == .none)
    }

    @Test func `compares only what matched`() {
        #expect(verdict(gap: 0, skew: 0, east: 300).corroboration == .unavailable)
        #expect(verdict(gap: 0, skew: 0, east: 300).corroborationGap == nil)
    }

    @Test(arguments: [
        (Int64?.none, Int64(120), Corroboration.corroborated), (120, 120, .corroborated),
        (119, 120, .none), (0, 0, .corroborated), (0, 1, .none),
    ])
    func `can turn an old trusted fix into none`(
        maxSkew: Int64?,
        skew: Int64,
        expected: Corroboration
    ) {
        #expect(verdict(gap: 10, skew: skew, maxSkew: maxSkew).corroboration == expected)
    }

    @Test func `places the trusted vehicle on the rider's pass of a loop`() {
        let vehicle = TrustedVehicle(
            tripID: "T3",
            startDate: nil,
            vehicleID: "",
            coordinate: Coordinate(latitude: 47.6001, longitude: -122.3299),
            timestamp: Fixture.eight
        )
        let length = Fixture.loop.length
        let cold = vehicle.position(on: Fixture.loopJourney, near: nil)
        let warm = vehicle.position(on: Fixture.loopJourney, near: length - 30)
        #expect(abs(cold.alongShape - 11.12) < 0.1)
        #expect(abs(warm.alongShape - 1982.94) < 0.1)
    }
}
