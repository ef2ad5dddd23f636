internal import Messages
internal import Transit

/// How often a phone should report from now on.
///
/// A ride that is published needs fewer calls, but no fewer than keep two riders of one vehicle in
/// agreement: the verifier leaves out who is more than 100 m from the middle of both (spec 2.10),
/// and compares their latest points whatever their age.
struct ReportCadence: Sendable {
    /// How far a vehicle may go between two reports: twice those 100 m, less what a report takes.
    static let reachMeters = 180.0

    /// The longest interval, for a ride that is published on a vehicle that goes no faster than it
    /// leaves.
    var publishedIntervalSeconds = RiderLimits.publishedReportIntervalSeconds

    /// The seconds until the next report.
    ///
    /// - Parameters:
    ///   - points: What the phone just reported, in any order.
    ///   - isPublished: Whether the ride is published.
    /// - Returns: From the usual interval to the longest; the usual one where no speed is known.
    func seconds(after points: [ReportedPoint], isPublished: Bool) -> Int {
        let usual = RiderLimits.reportIntervalSeconds
        guard isPublished, let speed = Self.speed(of: points) else { return usual }
        let reach = speed > 0 ? Self.reachMeters / speed : .infinity
        return max(usual, Int(min(reach, Double(publishedIntervalSeconds))))
    }

    /// Metres per second: the faster of what the phone says and what its first and last point say.
    private static func speed(of points: [ReportedPoint]) -> Double? {
        guard let first = points.first, let last = points.last else { return nil }
        var speeds = points.compactMap(\.speed).filter { $0.isFinite && $0 >= 0 }
        let seconds = Double(abs(last.timestamp - first.timestamp))
        if seconds > 0 {
            let start = Coordinate(latitude: first.latitude, longitude: first.longitude)
            let end = Coordinate(latitude: last.latitude, longitude: last.longitude)
            speeds.append(start.distance(to: end) / seconds)
        }
        return speeds.max()
    }
}
