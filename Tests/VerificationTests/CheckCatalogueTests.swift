import FoundationEssentials
import Testing

@testable import Verification

@Suite struct CheckCatalogueTests {
    private static let reference = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../docs/reference/verifier-checks.md")

    @Test func `has one entry for each check, in order`() {
        #expect(CheckCatalogue.all.map(\.id) == CheckID.allCases)
    }

    @Test func `leaves no field empty`() {
        for check in CheckCatalogue.all {
            let texts = [
                check.title, check.effect, check.reason, check.measure, check.source,
                check.commonMistake, check.remedy,
            ]
            #expect(texts.allSatisfy { !$0.isEmpty && !$0.contains("|") }, "\(check.id.rawValue)")
        }
    }

    @Test func `lists every threshold`() {
        let fields = Mirror(reflecting: Thresholds()).children.compactMap(\.label)
        #expect(Thresholds().entries.map(\.name) == fields)
    }

    /// Written anew under `WRITE_REFERENCE=1`.
    @Test func `the reference document says what the code does`() throws {
        if ProcessInfo.processInfo.environment["WRITE_REFERENCE"] == "1" {
            try Data(CheckCatalogue.markdown.utf8).write(to: Self.reference)
        }
        let text = try String(contentsOf: Self.reference, encoding: .utf8)
        #expect(text == CheckCatalogue.markdown)
    }

    @Test func `explains a verdict in one sentence with its numbers`() {
        let time = Fixture.due(250)
        func explanation(_ point: Point, trusted: Double? = nil) -> String {
            verify(
                point,
                on: Fixture.journey,
                previous: nil,
                lastAcceptedAt: nil,
                trusted: trusted.map { TrustedPosition(alongShape: $0, timestamp: time) },
                now: time,
                thresholds: Thresholds()
            ).explanation
        }
        let vague = Fixture.point(along: 250, at: time, accuracy: 150)
        #expect(explanation(vague) == "Ignored: the accuracy is 150 m, more than 100 m.")
        let far = Fixture.point(along: 250, east: 75, at: time)
        #expect(explanation(far) == "Off route: 75 m from the shape, more than 65 m.")
        let good = Fixture.point(along: 250, at: time)
        #expect(explanation(good) == "Matched; no trusted vehicle to compare with.")
        #expect(explanation(good, trusted: 950).hasPrefix("Matched but contradicted: the trusted"))
    }
}
