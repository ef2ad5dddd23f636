public import Foundation

/// Where a ``RideReporter`` sends positions, and when it ends a ride by itself.
///
/// The upload interval and the batch size are not here: the server dictates them per ride.
public struct RideReporterConfiguration: Sendable {
    /// The server, `https` unless a development transport is used; a path prefix is kept.
    public var serverURL: URL
    /// The app's bundle identifier, at most 100 characters.
    public var appID: String
    /// The app's version, at most 100 characters.
    public var appVersion: String
    /// A ride longer than this ends with ``RideEndReason/maxDuration``.
    public var maxRideDuration: Duration = .seconds(3 * 3600)
    /// A phone still for this long ends the ride with ``RideEndReason/stationary``.
    public var stationaryTimeout: Duration = .seconds(10 * 60)
    /// Coming this near to the destination ends the ride with ``RideEndReason/arrived``.
    public var arrivalRadiusMeters: Double = 75
    /// Straight-line distance from the first fix that must be covered before a ride can arrive.
    public var minimumTravelBeforeArrivalMeters: Double = 200
    /// Uploads failing for this long end the ride with ``RideEndReason/networkFailure``.
    public var uploadFailureTimeout: Duration = .seconds(5 * 60)
    /// A call that the transport has not answered for this long has failed, and is told to stop.
    ///
    /// ``URLSessionRideTransport`` gives up after 10 s by itself. One of an app's own that waits
    /// longer on purpose, as for a busy server, needs more; the ends of a ride wait for none.
    public var callTimeout: Duration = .seconds(12)
    /// Whether an upload that the server puts off waits as long as it asks, at most a minute.
    ///
    /// Off, a throttled one is tried again at the next interval, a failed one after 1, 2, 4, … 30 s.
    public var honorsRetryAfter = false
    /// Keeps the running ride and its last positions for ``RideReporter/resume()``; nil keeps nothing.
    public var journal: (any RideJournal)?

    /// Makes a configuration with the default limits.
    ///
    /// - Parameters:
    ///   - serverURL: The server, as in ``serverURL``.
    ///   - appID: The app's bundle identifier.
    ///   - appVersion: The app's version.
    public init(serverURL: URL, appID: String, appVersion: String) {
        self.serverURL = serverURL
        self.appID = appID
        self.appVersion = appVersion
    }
}
