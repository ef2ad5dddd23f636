import Foundation
import Messages
import RealtimeFeed
import Replay
import Schedule
import Telemetry
import TestKit
import Testing
import Transit

import struct Verification.Point

@testable import FeedService

/// A recorded day of real buses as drivers, agency and riders would report it: every poll of both feeds
/// passes the independent validator.
@Suite(.timeLimit(.minutes(15))) struct ReplayedDayTests {
    private static let data = ProjectPaths.root + "/../shared/data"
    private static let schedulePath = data + "/feeds/wmata-2026-D40-C53.gtfs.zip"
    private static let polls = 50
    /// Seconds between two polls: what trip planners do.
    private static let interval: Int64 = 30

    /// A bus at a moment, and who says so.
    private struct Bus {
        let fixes: [RecordedFix]
        let source: SourcedEntity.Source

        /// Its newest fix, unless that is older than a reader should see.
        func fix(at now: UnixSeconds) -> RecordedFix? {
            let known = fixes.last { $0.point.timestamp <= now }
            return known.flatMap { now - $0.point.timestamp <= 90 ? $0 : nil }
        }
    }

    private func buses(_ index: ScheduleIndex) throws -> [Bus] {
        let file = Self.data + "/traces/wmata-2026-02-16-D40-C53.vehiclepositions.csv"
        let fixes = try TraceReader.read(try #require(FileBytes.read(file)), on: index)
        let groups = Dictionary(grouping: fixes, by: \.vehicleID).sorted { $0.key < $1.key }
        let sources: [SourcedEntity.Source] = [.driver, .agency, .rider]
        return groups.enumerated().map { number, group in
            Bus(
                fixes: group.value.sorted { $0.point.timestamp < $1.point.timestamp },
                source: sources[number % sources.count]
            )
        }
    }

    /// What is known at a moment, each bus by the way of its source.
    private func known(
        _ buses: [Bus],
        _ index: ScheduleIndex,
        at now: UnixSeconds
    ) -> FeedAssembly.Knowledge {
        var known = FeedAssembly.Knowledge()
        known.schedule = index
        known.agenciesVersion = UInt64(now)
        var vehicles: [FeedEntity] = []
        var estimates: [TripEstimate] = []
        for bus in buses {
            guard let fix = bus.fix(at: now), let trip = fix.tripID, let date = fix.startDate else {
                continue
            }
            switch bus.source {
            case .driver: known.drivers.append(driver(fix, trip, date))
            case .agency: vehicles.append(agency(fix, trip, date))
            case .rider:
                if let estimate = rider(fix, trip, date, index) { estimates.append(estimate) }
            }
        }
        known.agencies = [
            .read(vehicles, at: now, url: "http://agency")
        ]
        _ = known.estimates.hear(.sample(sequence: UInt64(now), estimates))
        return known
    }

    private func driver(_ fix: RecordedFix, _ trip: TripID, _ date: ServiceDate) -> LiveVehicle {
        var live = LiveVehicle.sample(
            VehicleID(fix.vehicleID),
            trip: trip,
            date: date,
            latitude: fix.point.coordinate.latitude,
            at: fix.point.timestamp,
            revision: fix.point.timestamp
        )
        live.longitude = fix.point.coordinate.longitude
        live.speed = fix.point.speed
        live.bearing = fix.point.bearing
        return live
    }

    private func agency(_ fix: RecordedFix, _ trip: TripID, _ date: ServiceDate) -> FeedEntity {
        FeedEntity(
            id: fix.vehicleID,
            vehicle: VehiclePosition(
                trip: TripDescriptor(tripID: trip, startDate: date.description),
                vehicle: VehicleDescriptor(id: VehicleID(fix.vehicleID)),
                position: Position(
                    latitude: Float(fix.point.coordinate.latitude),
                    longitude: Float(fix.point.coordinate.longitude)
                ),
                timestamp: UInt64(fix.point.timestamp)
            )
        )
    }

    private func rider(
        _ fix: RecordedFix,
        _ trip: TripID,
        _ date: ServiceDate,
        _ index: ScheduleIndex
    ) -> TripEstimate? {
        guard let trip = index.trip(trip) else { return nil }
        let place = trip.shape.project(fix.point.coordinate)
        guard place.distanceToShape <= 60 else { return nil }
        let next = trip.nextStop(at: place.alongShape)
        let snapped = trip.shape.point(at: place.alongShape)
        return TripEstimate(
            trip: TripInstance(tripID: trip.id, startDate: date),
            routeID: trip.routeID,
            latitude: snapped.latitude,
            longitude: snapped.longitude,
            bearing: trip.shape.bearing(at: place.alongShape),
            speed: fix.point.speed,
            timestamp: fix.point.timestamp,
            stopID: next?.stopID,
            stopSequence: next?.stopSequence,
            riders: 2,
            alongShape: place.alongShape
        )
    }

    /// Plays the day from ten minutes before the first poll, and keeps what readers get at each.
    private func play(to folder: String) throws -> Int {
        let index = try ScheduleLoader.load(path: Self.schedulePath)
        let buses = try buses(index)
        let begin = try #require(buses.flatMap(\.fixes).map(\.point.timestamp).min()) + 3600
        var rules = FeedAssembly.Rules()
        rules.includesAgency = true
        rules.predictsAgency = true
        var assembly = FeedAssembly(rules)
        var feeds: (positions: FeedMessage?, updates: FeedMessage?)
        let end = begin + Int64(Self.polls - 1) * Self.interval
        for now in stride(from: begin - 600, through: end, by: 5) {
            let outcome = assembly.tick(
                known(buses, index, at: now),
                stamp: BuilderStamp(instance: "f", epoch: 1),
                at: now
            )
            feeds.positions = outcome.positions?.message ?? feeds.positions
            feeds.updates = outcome.tripUpdates?.message ?? feeds.updates
            guard now >= begin, (now - begin) % Self.interval == 0 else { continue }
            let time = Timestamps.text(ofSeconds: now).replacing(":", with: "-")
            for (part, feed) in [("vp", feeds.positions), ("tu", feeds.updates)] {
                let bytes = try #require(feed).encoded()
                try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(part)/\(time).pb"))
            }
        }
        let published = try #require(feeds.positions).entities.count
        // All three sources are in it.
        #expect(Set(buses.map(\.source)).count == 3)
        return published
    }

    /// Minutes of arithmetic, so it is `make soak` that runs it.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["ALONGSIDE_SOAK"] == "1"))
    func `fifty polls of a real day have no error and hardly a warning`() throws {
        let folder = NSTemporaryDirectory() + "alongside-\(UInt32.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for part in ["vp", "tu"] {
            try FileManager.default.createDirectory(
                atPath: folder + "/" + part,
                withIntermediateDirectories: true
            )
        }
        let published = try play(to: folder)
        #expect(published >= 10)
        let script = ProjectPaths.root + "/Tests/FeedTests/validate_polls.py"
        let outcome = try Tool.run("python", [script, Self.schedulePath, folder])
        struct Verdict: Decodable {
            let polls, messages, entities: Int
            let fired: [String: [String: Int]]
            let samples: [String]
        }
        let verdict = try #require(
            try? JSONDecoder().decode(Verdict.self, from: Data(outcome.output.utf8)),
            "\(outcome.output)"
        )
        print("fifty polls of a real day: \(verdict)")
        #expect(verdict.polls == Self.polls && verdict.messages == 2 * Self.polls)
        #expect(verdict.entities >= 2 * 10 * Self.polls)
        #expect(verdict.fired["error"] == nil, "\(verdict)")
        let warnings = verdict.fired["warning"]?.values.reduce(0, +) ?? 0
        #expect(Double(warnings) < 0.02 * Double(verdict.entities), "\(verdict)")
    }
}
