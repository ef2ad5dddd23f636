import Foundation
import Messages
import RealtimeFeed
import Schedule
import Telemetry
import TestKit
import Testing
import Transit

@testable import FeedService

/// Recorded feeds of real agencies, served by a fake one: what we make of each is valid.
@Suite(.timeLimit(.minutes(3))) struct CaptureTests {
    struct Capture: Sendable, CustomTestStringConvertible {
        let name: String
        let schedule: String?
        var testDescription: String { name }
    }

    private static let data = ProjectPaths.root + "/../shared/data"

    static let captures = [
        Capture(name: "raba-vehicle-positions.pb", schedule: "raba.gtfs.zip"),
        Capture(name: "raba-trip-updates.pb", schedule: "raba.gtfs.zip"),
        Capture(name: "unitrans-vehicle-positions.pb", schedule: nil),
        Capture(name: "unitrans-trip-updates.pb", schedule: nil),
        Capture(name: "bullrunner-vehicle-positions.pb", schedule: "bullrunner.gtfs.zip"),
        Capture(
            name: "soundtransit-vehicle-positions-1683740698.json",
            schedule: "soundtransit-2023.gtfs.zip"
        ),
        Capture(
            name: "soundtransit-vehicle-positions-1683740798.json",
            schedule: "soundtransit-2023.gtfs.zip"
        ),
        Capture(
            name: "soundtransit-vehicle-positions-1683914528.json",
            schedule: "soundtransit-2023.gtfs.zip"
        ),
        Capture(
            name: "soundtransit-trip-updates-1683740698.json",
            schedule: "soundtransit-2023.gtfs.zip"
        ),
        Capture(name: "miway-vehicle-positions.pb", schedule: nil),
        Capture(name: "bielsko-vehicle-positions.pb", schedule: nil),
        Capture(name: "nyct-7train-2019.pb", schedule: nil),
        Capture(name: "bart-trip-updates-2019.pb", schedule: nil),
    ]

    @Test func `no recorded feed is left out`() throws {
        let folder = Self.data + "/captures"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(files) == Set(Self.captures.map(\.name)))
    }

    private func bytes(_ capture: Capture) throws -> [UInt8] {
        let path = Self.data + "/captures/" + capture.name
        guard capture.name.hasSuffix(".json") else {
            return Array(try #require(FileBytes.read(path)))
        }
        let target = NSTemporaryDirectory() + "alongside-\(UInt32.random(in: 0 ... .max)).pb"
        defer { try? FileManager.default.removeItem(atPath: target) }
        let oracle = ProjectPaths.root + "/Tests/RealtimeFeedTests/oracle.py"
        let outcome = try Tool.run("python", [oracle, "to-pb", path, target])
        try #require(outcome.status == 0, "\(outcome.output)")
        return Array(try #require(FileBytes.read(target)))
    }

    @Test(arguments: captures)
    func `what is made of a recorded feed is valid`(capture: Capture) async throws {
        let body = try bytes(capture)
        let recorded = try FeedMessage(decoding: body)
        let now = Int64(try #require(recorded.header.timestamp)) + 5
        let server = HostileServer(HostileServer.answer("200 OK", "", body))
        let poller = AgencyPoller(
            urls: [server.url],
            clock: { now },
            turn: { 1 },
            logger: .silent,
            metrics: Metrics()
        )
        await poller.poll()
        try #require(poller.feeds[0].lastError == "")

        var rules = FeedAssembly.Rules()
        rules.includesAgency = true
        rules.predictsAgency = true
        var assembly = FeedAssembly(rules)
        var known = FeedAssembly.Knowledge()
        known.agencies = poller.feeds
        let schedule = capture.schedule.map { Self.data + "/feeds/" + $0 }
        known.schedule = try schedule.map { try ScheduleLoader.load(path: $0) }
        let outcome = assembly.tick(known, stamp: BuilderStamp(instance: "f", epoch: 1), at: now)
        let positions = try #require(outcome.positions).message
        let updates = try #require(outcome.tripUpdates).message

        // All that is young enough is there, but for one of two on a trip and what a rule keeps out.
        let fresh = recorded.entities.filter { entity in
            guard entity.vehicle?.position != nil else { return false }
            return (entity.vehicle?.timestamp ?? UInt64(now)) + 300 >= UInt64(now)
        }
        let trips = Set(fresh.compactMap { $0.vehicle?.trip?.tripID })
        let free = fresh.count { $0.vehicle?.trip?.tripID == nil }
        let left = outcome.withheld.values.reduce(0, +)
        #expect(positions.entities.count >= trips.count + free - left, "\(outcome.withheld)")
        for (feed, other) in [(positions, nil), (updates, positions)]
            as [(FeedMessage, FeedMessage?)]
        {
            let findings = feed.complianceFindings(
                now: UInt64(now),
                schedule: known.schedule,
                positions: other
            )
            #expect(findings.filter { $0.severity == .error }.isEmpty)
            #expect(try FeedMessage(decoding: feed.encoded()) == feed)
        }
        if let schedule { try judge(positions, updates, schedule, at: now) }
    }

    /// The independent validator over both feeds.
    private func judge(
        _ positions: FeedMessage,
        _ updates: FeedMessage,
        _ schedule: String,
        at now: Int64
    ) throws {
        let folder = NSTemporaryDirectory() + "alongside-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(positions.encoded()).write(to: URL(fileURLWithPath: folder + "/vp.pb"))
        try Data(updates.encoded()).write(to: URL(fileURLWithPath: folder + "/tu.pb"))
        let outcome = try Tool.run(
            "gtfs-rt-validator",
            [
                "-gtfs", schedule, "-vp", folder + "/vp.pb", "-tu", folder + "/tu.pb",
                "--at", Timestamps.text(ofSeconds: now), "--fail-on-error", "--out", folder,
            ]
        )
        let report = (FileBytes.read(folder + "/report.json"))
            .map { String(decoding: $0.prefix(6000), as: UTF8.self) }
        #expect(outcome.status == 0, "\(outcome.output) \(report ?? "")")
    }
}

/// The Python tools of the tests.
enum Tool {
    /// Runs a program of `.venv/bin` and returns what it printed.
    static func run(
        _ name: String,
        _ arguments: [String]
    ) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: ProjectPaths.root + "/.venv/bin/" + name)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }
}
