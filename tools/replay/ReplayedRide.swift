public import Transit
public import Verification

/// A recorded trip taken through the rules as if the phone of a new rider aboard had reported it.
///
/// Each fix is a batch of its own that arrives when it was measured. The ride starts with the first fix
/// and ends as the rules say, else after the last one.
public struct ReplayedRide: Sendable {
    /// A fix with what the rules said about it.
    public struct JudgedFix: Sendable {
        /// The fix.
        public let fix: RecordedFix
        /// What the rules said.
        public let verdict: Verdict
        /// The state after it.
        public let state: RideState
    }

    /// The trip that the ride claims to be on.
    public let journey: Journey
    /// The fixes up to the end of the ride.
    public let fixes: [JudgedFix]
    /// The session as the last of them left it.
    public let session: Session
    /// When the ride became verified, or nil.
    public let verifiedAt: UnixSeconds?
    /// After how many fixes the ride could be published on its own.
    public let publishableFixes: Int

    /// Whether the rules ended the ride because they did not believe it.
    public var isRejected: Bool { session.end?.reason.isRejection ?? false }

    /// Whether the ride became verified and was believed to its end.
    public var isAccepted: Bool { verifiedAt != nil && !isRejected }

    /// Replays fixes.
    ///
    /// - Parameters:
    ///   - fixes: In order of time.
    ///   - journey: The trip to claim; it need not be the one that the vehicle ran.
    ///   - feed: The trusted feed, or nil for none.
    ///   - thresholds: The limits.
    public init(
        _ fixes: [RecordedFix],
        on journey: Journey,
        feed: RecordedFeed? = nil,
        thresholds: Thresholds = Thresholds()
    ) {
        var session = Session(
            rideID: UniqueID(high: 0, low: 1),
            riderID: UniqueID(high: 0, low: 1),
            journey: journey,
            startedAt: fixes.first?.point.timestamp ?? 0
        )
        var judged: [JudgedFix] = []
        var verifiedAt: UnixSeconds?
        var publishable = 0
        for fix in fixes {
            let now = fix.point.timestamp
            guard session.reap(at: now, thresholds: thresholds) == nil,
                let outcome = try? applyBatch(
                    [fix.point],
                    to: session,
                    tier: .new,
                    trusted: feed?.vehicle(on: journey.instance, at: now),
                    now: now,
                    thresholds: thresholds
                ), let verdict = (outcome.accepted + outcome.ignored).first?.verdict
            else { break }
            session = outcome.session
            judged.append(JudgedFix(fix: fix, verdict: verdict, state: session.state))
            if outcome.result.published { publishable += 1 }
            if session.state == .verified { verifiedAt = verifiedAt ?? now }
        }
        self.journey = journey
        self.fixes = judged
        self.session = session
        self.verifiedAt = verifiedAt
        publishableFixes = publishable
    }
}
