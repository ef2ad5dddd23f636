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
}
