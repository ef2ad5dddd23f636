import Foundation
import RealtimeFeed
import TestKit
import Testing
import Web

extension EndToEnd.People {
    /// What `make run` shows a newcomer, judged by an independent validator.
    @Suite(.timeLimit(.minutes(4))) struct DemoTests {
        private static let feeds = 5

        @Test func `the demo's feed has buses and the validator finds no error in it`() async throws
        {
            let product = try await Product.ready(
                arguments: ["--demo"],
                environment: ["GTFS_STATIC_URL": ""]
            )
            #expect(product.log.contains("\(product.port)/gtfs-rt/vehicle-positions"))
            try await eventually("three buses; log: \(product.log)", within: .seconds(150)) {
                try await buses(product) >= 3
            }
            // The buses move: each of these feeds is another one.
            var judged: UInt64 = 0
            for number in 1...Self.feeds {
                var body: [UInt8] = []
                try await eventually("feed \(number)", within: .seconds(20)) {
                    body = try await product.get("/gtfs-rt/vehicle-positions").body
                    let time = try FeedMessage(decoding: body).header.timestamp ?? 0
                    defer { judged = max(judged, time) }
                    return time > judged
                }
                #expect(try validate(body, of: product) == "", "feed \(number)")
            }
            try await product.remove()
        }

        @Test func `the demo rides on a shifted clock, too`() async throws {
            let product = try await Product.ready(
                arguments: ["--demo"],
                environment: [
                    "GTFS_STATIC_URL": "", "ALONGSIDE_CLOCK_START": "2026-02-16T16:00:00Z",
                ]
            )
            try await eventually("a bus; log: \(product.log)", within: .seconds(150)) {
                try await buses(product) >= 1
            }
            let body = try await product.get("/gtfs-rt/vehicle-positions").body
            let time = try #require(try FeedMessage(decoding: body).header.timestamp)
            #expect((1_771_257_600..<1_771_258_200).contains(time))
            try await product.remove()
        }

        private func buses(_ product: Product) async throws -> Int {
            let body = try await product.get("/gtfs-rt/vehicle-positions").body
            return try FeedMessage(decoding: body).entities.count
        }

        /// What the validator complains of; empty when it finds no error.
        private func validate(_ feed: [UInt8], of product: Product) throws -> String {
            let file = product.folder + "/polled.pb"
            try Data(feed).write(to: URL(fileURLWithPath: file))
            let validator = Process()
            validator.executableURL = URL(
                fileURLWithPath: ProjectPaths.root + "/.venv/bin/gtfs-rt-validator"
            )
            validator.arguments = [
                "-gtfs", product.folder + "/schedules/demo.zip", "-vp", file,
                "--fail-on-error", "--out", product.folder + "/reports",
            ]
            let output = Pipe()
            validator.standardOutput = output
            validator.standardError = output
            try validator.run()
            let text = output.fileHandleForReading.readDataToEndOfFile()
            validator.waitUntilExit()
            return validator.terminationStatus == 0 ? "" : String(decoding: text, as: UTF8.self)
        }
    }
}
