public import Foundation

/// A position as the system hands it over.
public struct LocationReading: Sendable, Equatable {
    /// Where.
    public var coordinate: Coordinate
    /// Metres; nil when unknown.
    public var accuracyMeters: Double?
    /// Degrees clockwise from north; nil when unknown.
    public var headingDegrees: Double?
    /// Kilometres per hour; nil when unknown.
    public var speedKilometersPerHour: Double?
    /// When it was measured, by the wall clock.
    public var measuredAt: Date

    /// Makes a reading.
    public init(
        coordinate: Coordinate,
        accuracyMeters: Double? = nil,
        headingDegrees: Double? = nil,
        speedKilometersPerHour: Double? = nil,
        measuredAt: Date
    ) {
        self.coordinate = coordinate
        self.accuracyMeters = accuracyMeters
        self.headingDegrees = headingDegrees
        self.speedKilometersPerHour = speedKilometersPerHour
        self.measuredAt = measuredAt
    }
}

/// A position whose age can be told whatever happens to the wall clock.
public struct LocationFix: Sendable, Equatable {
    /// No delivery took longer than these seconds, decades; a lag beyond them is no time at all.
    private static let longestLag = 1e9

    /// What the system said.
    public var reading: LocationReading
    /// The uptime at which it was measured.
    public var measuredAtUptime: Duration

    /// Stamps a reading on receipt.
    ///
    /// The system names the instant of measurement by the wall clock alone. Its distance from the
    /// wall clock at receipt is the lag of the delivery, by which the uptime is set back; after
    /// that the wall clock may be set as anyone likes. A measurement from the future has no lag.
    ///
    /// - Parameters:
    ///   - reading: What the system said.
    ///   - now: The wall clock at receipt.
    ///   - uptime: The uptime at receipt.
    public init(_ reading: LocationReading, receivedAt now: Date, uptime: Duration) {
        self.reading = reading
        let lag = min(max(0, now.timeIntervalSince(reading.measuredAt)), Self.longestLag)
        measuredAtUptime = uptime - .seconds(lag)
    }

    /// How old it is.
    public func age(at uptime: Duration) -> Duration {
        max(.zero, uptime - measuredAtUptime)
    }
}
