import Foundation
import TestKit

/// The operators' table of what one core carries, made from what docs/performance.md measured.
struct CapacityTable {
    private let sections: [Substring]

    init() throws {
        sections = try text(of: "docs/performance.md").split(separator: "\n## ")
    }

    /// The table's lines.
    ///
    /// - Throws: When the page no longer has a row that is quoted here.
    func lines() throws -> String {
        let batch = try measured("bench ingest", "CPU of ours for a batch")
        let batches = 1_000_000 / (try number(batch))
        let build = 10 * (try number(measured("bench feed", "build and encode")))
        let gzip = try number(measured("bench feed", "gzip, made once for a feed, off the loop"))
        let relay = "1,000 sockets in one convoy, bursts of 16"
        let idle = "10,000 idle sockets in convoys of 10"
        return """
            | What | Measured |
            |---|---|
            | batches of 12 points, HTTP to commit, in one core of ingest and verifier | \(batch), so \(rounded(batches)) a second: \(rounded(5 * batches)) riders at one batch in 5 s |
            | the same with one ingest and one verifier, beside their database and the phones on two cores | \(try measured("bench ingest", "one verifier")) |
            | a feed of 10,000 vehicles, built and compressed each second | \(Int((build + gzip).rounded())) ms of each second |
            | answers of the feed without news (304) | \(try measured("bench feed", "304")) a second of CPU |
            | whole feeds, 668 kB each | \(try measured("bench feed", "whole body, 668 kB, in bytes")) a second of CPU |
            | live positions to the sockets of a relay | \(try measured("bench relay", relay)) |
            | idle sockets of a relay | \(try measured("bench relay", idle)) |
            """
    }

    /// What a row says in the column of what we need.
    private func measured(_ section: String, _ row: String) throws -> String {
        let lines =
            sections.first { $0.prefix { $0 != "\n" }.contains("`\(section)`") }?
            .split(separator: "\n").filter { $0.hasPrefix("|") } ?? []
        let column = lines.first.map(cells)?.firstIndex {
            ["Measured", "Now", "Ours", "Relay"].contains($0)
        }
        let found = lines.map(cells).first { $0.first == row }
        guard let column, let found, column < found.count, !found[column].isEmpty else {
            throw Missing(description: "docs/performance.md, \(section): \(row)")
        }
        return found[column].split(separator: ", opened").first.map(String.init) ?? ""
    }

    private func cells(_ line: Substring) -> [String] {
        line.split(separator: "|", omittingEmptySubsequences: false).dropFirst()
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func number(_ cell: String) throws -> Double {
        let digits = cell.replacing(",", with: "").prefix { $0.isNumber || $0 == "." }
        guard let number = Double(digits), number > 0 else { throw Missing(description: cell) }
        return number
    }

    /// Two digits that count, the rest is noise: 4,900.
    private func rounded(_ value: Double) -> String {
        var unit = 1.0
        while value / unit >= 100 { unit *= 10 }
        let digits = String(Int((value / unit).rounded(.down) * unit))
        guard digits.count > 3 else { return digits }
        return digits.dropLast(3) + "," + digits.suffix(3)
    }

    struct Missing: Error, CustomStringConvertible { let description: String }
}
