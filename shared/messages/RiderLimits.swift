/// What phones are told about reporting, by every service that tells them (seed 4.3, 4.4).
public enum RiderLimits {
    /// Points in one report.
    public static let batchSize = 12
    /// Seconds between the points that a phone should report.
    public static let reportIntervalSeconds = 5
    /// The longest such time for a ride that is published, where no setting says otherwise.
    public static let publishedReportIntervalSeconds = 15
}
