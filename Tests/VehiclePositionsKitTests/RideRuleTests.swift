import Foundation
import Testing

@testable import VehiclePositionsKit

/// The value types that decide, without a reporter around them.
@Suite struct RideRuleTests {
    let epoch = Date(timeIntervalSince1970: 1_800_000_000)

    func sample(_ second: Double, north: Double = 0, isStationary: Bool = false) -> LocationSample {
        LocationSample(
            coordinate: Coordinate(latitude: 47.6 + north / 111_195, longitude: -122.33),
            timestamp: epoch.addingTimeInterval(second),
            isStationary: isStationary
        )
    }

    func position(_ second: Double) throws -> RiderPosition {
        try #require(RiderPosition(sample(second)))
    }

    @Test func `gives positions back in order and forgets what is ten minutes old`() throws {
        var buffer = SampleBuffer()
        for second in 0..<5 { buffer.append(try position(Double(second)), now: epoch) }
        let batch = buffer.take(2)
        #expect(batch.map(\.timestamp) == [1_800_000_000, 1_800_000_001])
        buffer.restore(batch, now: epoch)
        #expect(buffer.positions.map(\.timestamp) == (0..<5).map { 1_800_000_000 + $0 })
        buffer.append(try position(601), now: epoch.addingTimeInterval(601))
        #expect(buffer.positions.first?.timestamp == 1_800_000_001)
        let old = buffer.take(2)
        buffer.restore(old, now: epoch.addingTimeInterval(602))
        #expect(buffer.positions.first?.timestamp == 1_800_000_002)
    }

    @Test func `bounds the buffer`() throws {
        var buffer = SampleBuffer()
        for _ in 0...SampleBuffer.limit { buffer.append(try position(0), now: epoch) }
        #expect(buffer.count == SampleBuffer.limit)
    }

    func conditions(destination: Coordinate? = nil) throws -> EndConditions {
        let url = try #require(URL(string: "https://bus.example"))
        let configuration = RideReporterConfiguration(serverURL: url, appID: "", appVersion: "")
        return EndConditions(
            configuration: configuration,
            destination: destination,
            startedAt: epoch
        )
    }

    @Test func `arrives only after some travel, and never without a destination`() throws {
        let stop = Coordinate(latitude: 47.6 + 190 / 111_195, longitude: -122.33)
        var near = try conditions(destination: stop)
        #expect(near.receive(sample(0), now: epoch) == nil)
        #expect(near.receive(sample(1, north: 190), now: epoch) == nil)
        #expect(near.receive(sample(2, north: 199), now: epoch) == nil)
        #expect(near.receive(sample(3, north: 201), now: epoch) == .arrived)
        var passing = try conditions(destination: stop)
        #expect(passing.receive(sample(0), now: epoch) == nil)
        #expect(passing.receive(sample(1, north: 266), now: epoch) == nil)
        var open = try conditions()
        #expect(open.receive(sample(0), now: epoch) == nil)
        #expect(open.receive(sample(1, north: 2000), now: epoch) == nil)
    }

    @Test func `counts stillness on the clock until the phone moves`() throws {
        var conditions = try conditions()
        let still = sample(0, isStationary: true)
        #expect(conditions.receive(still, now: epoch) == nil)
        #expect(conditions.check(at: epoch.addingTimeInterval(599)) == nil)
        #expect(conditions.check(at: epoch.addingTimeInterval(600)) == .stationary)
        let flaw = LocationSample(
            coordinate: nil,
            timestamp: epoch,
            diagnostic: .accuracyLimited
        )
        let later = epoch.addingTimeInterval(300)
        #expect(conditions.receive(flaw, now: later) == nil)
        #expect(conditions.check(at: epoch.addingTimeInterval(600)) == .stationary)
        #expect(conditions.receive(sample(301), now: later) == nil)
        #expect(conditions.check(at: epoch.addingTimeInterval(10_799)) == nil)
        #expect(conditions.check(at: epoch.addingTimeInterval(10_800)) == .maxDuration)
    }

    @Test func `waits as long as a busy server asks only when told to`() throws {
        for honors in [false, true] {
            var uploads = UploadSchedule(
                intervalSeconds: 0,
                batchSize: 0,
                failureTimeout: .seconds(60),
                honorsRetryAfter: honors
            )
            #expect(uploads.nextTick == .seconds(1))
            uploads.append(try position(0), now: epoch)
            #expect(uploads.takeIfFull()?.count == 1)
            #expect(uploads.takeOnTick() == nil)
            let step = uploads.finish(.throttled(retryAfter: .seconds(40)), now: epoch)
            #expect(step == .proceed)
            #expect(uploads.nextTick == .seconds(honors ? 40 : 1))
            #expect(uploads.takeIfFull() == nil)
            #expect(uploads.takeOnTick()?.count == 1)
        }
    }

    @Test func `a clock that was set back puts no end off by as much`() throws {
        var conditions = try conditions()
        let still = sample(0, isStationary: true)
        #expect(conditions.receive(still, now: epoch) == nil)
        let hourAgo = epoch.addingTimeInterval(-3600)
        #expect(conditions.check(at: hourAgo) == nil)
        #expect(conditions.check(at: hourAgo.addingTimeInterval(599)) == nil)
        #expect(conditions.check(at: hourAgo.addingTimeInterval(600)) == .stationary)
        var uploads = UploadSchedule(
            intervalSeconds: 5,
            batchSize: 12,
            failureTimeout: .seconds(60)
        )
        uploads.append(try position(0), now: epoch)
        for (seconds, hasFailed) in [(0.0, false), (-3600, false), (-3541, false), (-3540, true)] {
            let now = epoch.addingTimeInterval(seconds)
            _ = uploads.takeOnTick()
            let step = uploads.finish(.failed(retryAfter: nil), now: now)
            #expect((step == .giveUp) == hasFailed)
        }
    }

    @Test func `leaves out readings that measure nothing`() throws {
        for value in [-1.0, -.infinity, .infinity, .nan, 1e308, 1_000_001] {
            let fix = LocationSample(
                coordinate: Coordinate(latitude: 0, longitude: 0),
                horizontalAccuracy: value,
                speed: value,
                course: value,
                timestamp: epoch
            )
            let position = try #require(RiderPosition(fix))
            #expect(position.accuracy == nil && position.speed == nil && position.bearing == nil)
            #expect(throws: Never.self) {
                try RiderClient.encoder.encode(PositionsBody(positions: [position]))
            }
        }
        let nowhere: [(Double, Double)] = [
            (.nan, 0), (0, .nan), (91, 0), (-90.001, 0), (0, 180.001), (.infinity, 0),
        ]
        for (latitude, longitude) in nowhere {
            let place = Coordinate(latitude: latitude, longitude: longitude)
            #expect(RiderPosition(LocationSample(coordinate: place, timestamp: epoch)) == nil)
            var conditions = try conditions()
            let fix = LocationSample(coordinate: place, timestamp: epoch)
            #expect(conditions.receive(fix, now: epoch) == nil)
            #expect(conditions.firstFix == nil)
        }
        for time in [Double.nan, .infinity, -.infinity, 0, -5, 1e12] {
            let fix = LocationSample(
                coordinate: Coordinate(latitude: 0, longitude: 0),
                timestamp: Date(timeIntervalSince1970: time)
            )
            #expect(RiderPosition(fix) == nil)
        }
    }
}
