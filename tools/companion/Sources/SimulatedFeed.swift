internal import CompanionKit
internal import FoundationEssentials
internal import Synchronization

/// A phone that stands somewhere, or goes from there to somewhere else in a straight line.
final class SimulatedFeed: LocationFeed {
    /// Between two positions: a phone's usual one.
    private static let step = Duration.seconds(1)

    private let start: Coordinate
    private let destination: Coordinate?
    private let metersPerSecond: Double
    private let clock: any CompanionClock
    private let beginning: Duration

    init(_ options: CompanionOptions, start: Coordinate, clock: any CompanionClock) {
        self.start = start
        destination = options.destination
        metersPerSecond = options.speedKilometersPerHour / 3.6
        self.clock = clock
        beginning = clock.uptime
    }

    func readings() -> AsyncStream<LocationReading> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: LocationReading.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let walking = Task { [self] in
            while !Task.isCancelled {
                continuation.yield(reading())
                try? await clock.sleep(for: Self.step)
            }
        }
        continuation.onTermination = { _ in walking.cancel() }
        return stream
    }

    /// A simulated phone costs nothing: it goes on at its step, and the hub hands on what is wanted.
    func setInterval(_ interval: Duration) {}

    /// Where the phone is now.
    func reading() -> LocationReading {
        guard let destination else {
            return LocationReading(
                coordinate: start,
                accuracyMeters: 5,
                speedKilometersPerHour: 0,
                measuredAt: clock.now
            )
        }
        let length = start.distanceMeters(to: destination)
        let seconds = (clock.uptime - beginning) / .seconds(1)
        let share = length > 0 ? min(1, metersPerSecond * seconds / length) : 1
        return LocationReading(
            coordinate: Coordinate(
                latitude: start.latitude + (destination.latitude - start.latitude) * share,
                longitude: start.longitude + (destination.longitude - start.longitude) * share
            ),
            accuracyMeters: 5,
            speedKilometersPerHour: share < 1 ? metersPerSecond * 3.6 : 0,
            measuredAt: clock.now
        )
    }
}
