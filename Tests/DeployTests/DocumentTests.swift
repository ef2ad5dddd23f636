import Foundation
import TestKit
import Testing

/// What is written for operators and app makers, as far as the code can contradict it.
@Suite struct DocumentTests {
    @Test func `every test that the page on circles names is there`() throws {
        let page = try text(of: "docs/circles-and-convoys.md")
        let section = page.split(separator: "## 9.").last?.split(separator: "## 10.").first ?? ""
        let rows = section.split(separator: "\n").filter {
            $0.hasPrefix("| ") && !$0.hasPrefix("| #")
        }
        #expect(rows.count == 6)
        let tests = try Self.testNames()
        for row in rows {
            let named = row.matches(of: #/`([^`]+)`/#).map { String($0.1) }
            #expect(!named.isEmpty, "\(row)")
            for name in named { #expect(tests.contains(name), "\(name)") }
        }
    }

    @Test func `the page on circles keeps the numbers of its sections`() throws {
        let page = try text(of: "docs/circles-and-convoys.md")
        let numbers = page.matches(of: #/(?m)^##+ ([\d.]+?)\.? /#).map { String($0.1) }
        #expect(
            numbers == [
                "1", "2", "3", "4", "5", "6", "6.1", "6.2", "6.3", "6.4", "6.5", "7", "8", "9",
                "10",
                "11",
            ]
        )
    }

    @Test func `every alert has its line in the guide`() throws {
        let guide = try text(of: "docs/guides/operators.md")
        let alerts = try text(of: "deploy/prometheus/rules.yml").matches(of: #/alert: (\w+)/#)
        #expect(alerts.count >= 10)
        for alert in alerts { #expect(guide.contains("| \(alert.1) |"), "\(alert.1)") }
    }

    /// Written anew under `WRITE_REFERENCE=1`.
    @Test func `what one core carries is what was measured`() throws {
        let path = "docs/guides/operators.md"
        let guide = try text(of: path)
        let pattern = #/(<!-- made from performance\.md -->\n)[^<]*(<!-- end -->)/#
        let match = try #require(guide.firstMatch(of: pattern))
        let made = guide.replacingCharacters(
            in: match.range,
            with: "\(match.1)\(try CapacityTable().lines())\n\(match.2)"
        )
        if ProcessInfo.processInfo.environment["WRITE_REFERENCE"] != nil {
            let file = ProjectPaths.root + "/" + path
            try made.write(toFile: file, atomically: true, encoding: .utf8)
        }
        #expect(try text(of: path) == made)
    }

    @Test func `links between the documents lead somewhere`() throws {
        for file in Self.documents {
            let folder = URL(fileURLWithPath: ProjectPaths.root + "/" + file)
                .deletingLastPathComponent()
            for link in try text(of: file).matches(of: #/\]\(([^)#]+)(#[^)]*)?\)/#) {
                let target = String(link.1)
                guard !target.hasPrefix("http") else { continue }
                let path = folder.appendingPathComponent(target).standardizedFileURL.path
                #expect(FileManager.default.fileExists(atPath: path), "\(file): \(target)")
            }
        }
    }

    @Test func `every setting that the guides name exists`() throws {
        let known = try text(of: "docs/reference/settings.md")
        let ours = [
            "SITE_ADDRESS", "SETTINGS", "FOLDER", "SECRETS", "DATABASE_URL", "FULL_DATASET", "HOST",
        ]
        for file in Self.documents where file.hasPrefix("docs/guides") {
            for name in try text(of: file).matches(of: #/`([A-Z][A-Z_]{5,})`/#) {
                let key = String(name.1)
                #expect(ours.contains(key) || known.contains("| `\(key)` |"), "\(file): \(key)")
            }
        }
    }

    private static let documents = [
        "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/circles-and-convoys.md",
        "docs/guides/operators.md", "docs/guides/feed-consumers.md", "docs/guides/app-makers.md",
        "docs/guides/privacy.md",
    ]

    /// The names of all tests, as they are written between backticks.
    private static func testNames() throws -> Set<String> {
        let root = ProjectPaths.root + "/Tests"
        var names: Set<String> = []
        let files = FileManager.default.enumerator(atPath: root)
        while let file = files?.nextObject() as? String {
            guard file.hasSuffix(".swift") else { continue }
            let source = try String(contentsOfFile: root + "/" + file, encoding: .utf8)
            for name in source.matches(of: #/func `([^`]+)`/#) { names.insert(String(name.1)) }
        }
        return names
    }
}
