import Foundation
import LoadKit

/// One line for each fault of a drill: what was done, what was seen, how long anybody waited.
struct FaultTable {
    struct Row {
        let fault: String
        let seen: String
        /// Seconds from the first sending of a batch to its acknowledgement, the longest.
        let longestWait: Double
        /// Seconds between two answers of the feed, the longest.
        let longestFeedGap: Double
        let limit: Double
    }

    private(set) var rows: [Row] = []

    mutating func add(_ row: Row) { rows.append(row) }

    /// The table as text, wide enough for its longest words.
    var text: String {
        let header = ["fault", "seen", "longest wait", "limit", "feed gap"]
        let lines =
            [header]
            + rows.map { row in
                [
                    row.fault, row.seen, Self.seconds(row.longestWait), Self.seconds(row.limit),
                    Self.seconds(row.longestFeedGap),
                ]
            }
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            zip(line, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }
                .joined(separator: "  ")
        }
        .joined(separator: "\n")
    }

    private static func seconds(_ value: Double) -> String { String(format: "%.2f s", value) }
}

/// Asks for the feed all the time, through the gateway.
actor GatewayWatch {
    private(set) var answers: [(at: Double, header: Int64, entities: Int)] = []
    private var task: Task<Void, Never>?

    func start(_ look: @escaping @Sendable () async -> (header: Int64, entities: Int)?) {
        task = Task {
            while !Task.isCancelled {
                if let seen = await look() {
                    note(seen.header, seen.entities)
                }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    func stop() async {
        task?.cancel()
        await task?.value
    }

    private func note(_ header: Int64, _ entities: Int) {
        answers.append((LoadRunner.now, header, entities))
    }

    /// The longest time without an answer in a span.
    func longestGap(_ span: ClosedRange<Double>) -> Double {
        let times =
            [span.lowerBound] + answers.map(\.at).filter(span.contains) + [span.upperBound]
        return zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0
    }

    /// The longest time in a span in which the header did not move on.
    func longestStandstill(_ span: ClosedRange<Double>) -> Double {
        var longest = 0.0
        var since = span.lowerBound
        var header: Int64 = 0
        for answer in answers where span.contains(answer.at) {
            if answer.header > header {
                longest = max(longest, answer.at - since)
                (since, header) = (answer.at, answer.header)
            }
        }
        return max(longest, span.upperBound - since)
    }

    /// Where an answer was older than the one before: when it came, and by how many seconds.
    var stepsBack: [(at: Double, seconds: Int64)] {
        zip(answers, answers.dropFirst()).filter { $1.header < $0.header }
            .map { ($1.at, $0.header - $1.header) }
    }
}
