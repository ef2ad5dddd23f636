internal import Transit
internal import Web

/// Reports of one driver that are to be stored together.
struct ReportWork: Sendable {
    /// How much was stored.
    struct Stored: Sendable, Equatable {
        /// Points that are new.
        let accepted: Int
        /// Points of a vehicle and a second that were there already.
        let ignored: Int
    }

    let driverID: UniqueID
    /// What it is charged to.
    let allowance: DriverAllowance
    let reports: [DriverReport]
    /// How many of them have a time that is more than a minute off.
    let skewed: Int
    let receivedAt: UnixSeconds
}

/// How often a driver may send something (spec 1.6); what was kept offline does not use up what is
/// for live reports.
enum DriverAllowance: String, Sendable, CaseIterable {
    case report
    case batch

    /// Seconds between two of a kind.
    static let interval: Int64 = 5

    /// The answer to a driver who sends too often.
    ///
    /// - Parameter seconds: When it may be tried again.
    func refusal(retryAfter seconds: Int64) -> HTTPError {
        let message =
            switch self {
            case .report:
                "rate limit exceeded: at most one location report per 5 seconds per driver"
            case .batch:
                "rate limit exceeded: at most one location batch per 5 seconds per driver"
            }
        return HTTPError(
            status: 429,
            code: "rate.locations",
            message: message,
            retryAfter: Int(max(1, seconds))
        )
    }
}

/// When a driver's last report and last batch were admitted.
struct DriverCharge: Sendable {
    let driverID: UniqueID
    var lastReport: UnixSeconds?
    var lastBatch: UnixSeconds?
    /// Skewed reports that were admitted now.
    var skewed: Int64 = 0
    /// Whether anything was admitted now.
    var isChanged = false

    /// Admits work, or says after how many seconds it may come again.
    mutating func admit(_ work: ReportWork) -> Result<Void, HTTPError> {
        let last = work.allowance == .report ? lastReport : lastBatch
        if let last {
            let elapsed = work.receivedAt - last
            guard elapsed >= DriverAllowance.interval else {
                let wait = min(DriverAllowance.interval, DriverAllowance.interval - elapsed)
                return .failure(work.allowance.refusal(retryAfter: wait))
            }
        }
        switch work.allowance {
        case .report: lastReport = work.receivedAt
        case .batch: lastBatch = work.receivedAt
        }
        skewed += Int64(work.skewed)
        isChanged = true
        return .success(())
    }
}
