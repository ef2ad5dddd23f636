import Messages
import Testing

@testable import RiderIngestService

/// How often phones are told to report.
@Suite struct ReportCadenceTests {
    /// A point so many metres north of the first, so many seconds later.
    private static func point(
        _ meters: Double,
        _ second: Int64,
        speed: Double? = nil
    ) -> ReportedPoint {
        ReportedPoint(
            latitude: 47 + meters / 111_195,
            longitude: 8,
            speed: speed,
            timestamp: 1_800_000_000 + second
        )
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let points: [ReportedPoint]
        let seconds: Int

        init(_ name: String, _ points: [ReportedPoint], _ seconds: Int) {
            testDescription = name
            self.points = points
            self.seconds = seconds
        }
    }

    static let cases = [
        Case("nothing", [], 5),
        Case("one point without a speed", [point(0, 0)], 5),
        Case("one that stands", [point(0, 0, speed: 0)], 15),
        Case("12 m/s as the phone says", [point(0, 0, speed: 12)], 15),
        Case("a little faster", [point(0, 0, speed: 12.1)], 14),
        Case("20 m/s", [point(0, 0, speed: 20)], 9),
        Case("36 m/s", [point(0, 0, speed: 36)], 5),
        Case("beyond any vehicle", [point(0, 0, speed: 1e300)], 5),
        Case("not a number", [point(0, 0, speed: .nan)], 5),
        Case("below zero", [point(0, 0, speed: -3)], 5),
        Case("two points 11.9 m/s apart", [point(0, 0), point(119, 10)], 15),
        Case("two points 20 m/s apart", [point(0, 0), point(200, 10)], 9),
        Case("in the wrong order", [point(200, 10), point(0, 0)], 9),
        Case("at one time", [point(0, 0), point(200, 0)], 5),
        Case("slower than the phone says", [point(0, 0), point(10, 10, speed: 20)], 9),
        Case("faster than the phone says", [point(0, 0, speed: 1), point(200, 10, speed: 1)], 9),
    ]

    @Test(arguments: cases)
    func `a published ride reports as seldom as its speed allows`(each: Case) {
        let cadence = ReportCadence()
        #expect(cadence.seconds(after: each.points, isPublished: true) == each.seconds)
        #expect(cadence.seconds(after: each.points, isPublished: false) == 5)
    }

    @Test func `no ride reports more seldom than the setting says`() {
        let standing = [Self.point(0, 0, speed: 0)]
        for seconds in 5...15 {
            let cadence = ReportCadence(publishedIntervalSeconds: seconds)
            #expect(cadence.seconds(after: standing, isPublished: true) == seconds)
        }
    }
}
