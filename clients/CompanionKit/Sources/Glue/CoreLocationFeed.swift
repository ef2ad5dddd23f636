#if canImport(CoreLocation)
public import CoreLocation
public import Foundation
internal import Synchronization

/// The phone's positions from Core Location, as one stream whose accuracy follows the wish.
///
/// The app asks for permission; `location` among its background modes keeps a ride going while the
/// screen is off.
public final class CoreLocationFeed: NSObject, LocationFeed, CLLocationManagerDelegate {
    /// Up to this interval the positions are for a ride, beyond it for presence.
    static let rideInterval = Duration.seconds(10)
    /// Metres between two positions that are for presence.
    static let presenceDistance = 50.0

    private struct State {
        var interval = LocationHub.convoyInterval
        var reader: AsyncStream<LocationReading>.Continuation?
        /// Tells a stream that ends from the one that has taken its place.
        var readerCount = 0
    }

    private let allowsBackground: Bool
    private let state = Mutex(State())
    @MainActor private var manager: CLLocationManager?

    /// Makes a feed.
    ///
    /// - Parameter allowsBackground: Whether positions go on while the app is in the background;
    ///   needs `location` among the app's background modes.
    public init(allowsBackground: Bool) {
        self.allowsBackground = allowsBackground
    }

    /// Positions until the consumer stops.
    public func readings() -> AsyncStream<LocationReading> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: LocationReading.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let number = state.withLock { state in
            state.reader = continuation
            state.readerCount += 1
            return state.readerCount
        }
        continuation.onTermination = { [weak self] _ in
            Task { @MainActor in self?.stop(number) }
        }
        Task { @MainActor in start() }
        return stream
    }

    /// How often positions are wanted now.
    public func setInterval(_ interval: Duration) {
        state.withLock { $0.interval = interval }
        Task { @MainActor in adjust() }
    }

    // MARK: - Core Location, whose manager belongs to the thread that made it

    @MainActor private func start() {
        guard manager == nil, state.withLock({ $0.reader != nil }) else { return }
        let manager = CLLocationManager()
        manager.delegate = self
        manager.allowsBackgroundLocationUpdates = allowsBackground
        manager.pausesLocationUpdatesAutomatically = false
        self.manager = manager
        adjust()
        manager.startUpdatingLocation()
    }

    @MainActor private func stop(_ number: Int) {
        let isLast = state.withLock { state in
            if state.readerCount == number { state.reader = nil }
            return state.readerCount == number
        }
        guard isLast else { return }
        manager?.stopUpdatingLocation()
        manager = nil
    }

    @MainActor private func adjust() {
        let isRide = state.withLock { $0.interval <= Self.rideInterval }
        manager?.desiredAccuracy =
            isRide ? kCLLocationAccuracyBest : kCLLocationAccuracyHundredMeters
        manager?.distanceFilter = isRide ? kCLDistanceFilterNone : Self.presenceDistance
    }

    /// Passes positions on.
    public func locationManager(
        _ manager: CLLocationManager,
        didUpdateLocations locations: [CLLocation]
    ) {
        let reader = state.withLock { $0.reader }
        // With a negative accuracy the system says that the place is none.
        for location in locations where location.horizontalAccuracy >= 0 {
            reader?.yield(LocationReading(location))
        }
    }

    /// Begins again once the person allows positions: a start before that may have come to nothing.
    public func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
        Task { @MainActor in self.manager?.startUpdatingLocation() }
    }

    /// Takes note of nothing: the system tries again by itself, and the app asks for permission.
    public func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {}
}

extension LocationReading {
    /// A reading of Core Location's, whose negative direction and speed mean unknown.
    fileprivate init(_ location: CLLocation) {
        self.init(
            coordinate: Coordinate(
                latitude: location.coordinate.latitude,
                longitude: location.coordinate.longitude
            ),
            accuracyMeters: location.horizontalAccuracy,
            headingDegrees: location.course < 0 ? nil : location.course,
            speedKilometersPerHour: location.speed < 0 ? nil : location.speed * 3.6,
            measuredAt: location.timestamp
        )
    }
}
#endif
