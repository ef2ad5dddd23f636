import Foundation
import Testing

@testable import CompanionKit

/// Case 116.
@Suite struct LatestFixesTests {
    func fix(_ id: AccountID, _ meters: Double, _ seconds: Double) -> MemberFix {
        let place = Places.north(meters)
        return MemberFix(
            riderID: id,
            latitude: place.latitude,
            longitude: place.longitude,
            accuracyMeters: nil,
            measuredAt: Date(timeIntervalSince1970: seconds)
        )
    }

    @Test func `draws everyone once at their newest fix, but for the person themselves`() {
        let fixes = [
            fix(People.ann, 1, 10), fix(People.me, 2, 99), fix(People.ann, 3, 20),
            fix(People.ann, 4, 15), fix(People.bob, 5, 1),
        ]
        let entries = LatestFixes.merge(fixes, circles: [.circle()], me: People.me)
        #expect(entries.map(\.username) == [nil, "ann"])
        #expect(entries.map(\.fix) == [fixes[4], fixes[2]])
    }
}
