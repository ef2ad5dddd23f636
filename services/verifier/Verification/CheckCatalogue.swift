/// One check of the verifier, as operators and contributors read about it.
public struct Check: Sendable, Equatable {
    /// Its stable name.
    public let id: CheckID
    /// What it refuses, in a few words.
    public let title: String
    /// What follows when it fails.
    public let effect: String
    /// Why it is there.
    public let reason: String
    /// What is measured, with its unit and the threshold it is held against.
    public let measure: String
    /// Where the rule comes from.
    public let source: String
    /// What usually makes an honest ride fail it.
    public let commonMistake: String
    /// What to do about that.
    public let remedy: String
    /// The setting that switches it off, or only counts, and what counts it; nil for the rules of a ride,
    /// which always hold.
    public var control: CheckControl?
}

/// How an operator watches a check that can be switched off.
public struct CheckControl: Sendable, Equatable {
    /// The setting, with its modes.
    public let mode: String
    /// The metric.
    public let counter: String
}

/// All checks of the verifier, in the order in which they are made.
public enum CheckCatalogue {
    /// One entry for each ``CheckID``, in its order.
    public static let all: [Check] =
        pointChecks + shapeChecks + rideChecks + tripChecks + witnessChecks

    private static let pointChecks: [Check] = [
        Check(
            id: .coordinates,
            title: "The coordinates are no place",
            effect: "ignored",
            reason: "A receiver without a fix reports 0, 0 or nonsense.",
            measure: "latitude within ±90°, longitude within ±180°, not both zero",
            source: "seed 4.5 rule 1",
            commonMistake: "Latitude and longitude are swapped.",
            remedy: "Send WGS-84 degrees, and nothing without a fix."
        ),
        Check(
            id: .accuracy,
            title: "The fix is too vague",
            effect: "ignored",
            reason: "A fix of a cell tower lies anywhere on the route and proves nothing.",
            measure: "accuracy in metres, at most maxAccuracyMeters",
            source: "seed 4.5 rule 1",
            commonMistake: "The phone lies in a bag or the permission is for approximate location.",
            remedy: "Ask for precise location; vague fixes cost the ride nothing."
        ),
        Check(
            id: .age,
            title: "The point arrived too late",
            effect: "ignored",
            reason: "An old point says nothing about where the vehicle is.",
            measure: "seconds between our clock and the point, at most maxPointAgeSeconds",
            source: "seed 4.5 rule 1",
            commonMistake: "The phone had no network for longer than its buffer is worth.",
            remedy: "Drop buffered points older than ten minutes before sending."
        ),
        Check(
            id: .lead,
            title: "The point is dated in the future",
            effect: "ignored",
            reason: "A point from the future would keep every honest one out until then.",
            measure: "seconds between the point and our clock, at most maxPointLeadSeconds",
            source: "seed 4.5 rule 1",
            commonMistake: "The clock of the phone is wrong.",
            remedy: "Take the time of the fix, not of the phone."
        ),
        Check(
            id: .order,
            title: "The point is not newer than the last accepted one",
            effect: "ignored",
            reason:
                "A repeat must not count twice, and an old point must not undo a newer verdict.",
            measure: "seconds after the last accepted point, more than 0",
            source: "seed 4.5 rule 1, sharpened by D3",
            commonMistake: "A batch was sent again, or two fixes fall into one second.",
            remedy: "None needed: repeats are harmless."
        ),
    ]

    private static let shapeChecks: [Check] = [
        Check(
            id: .distance,
            title: "The point is too far from the shape",
            effect: "off_route",
            reason: "A rider of the trip is on the trip's line.",
            measure: "metres from the shape, at most maxShapeDistanceMeters plus the accuracy",
            source: "seed 4.5 rule 2",
            commonMistake: "A detour, a wrong trip, or a shape drawn too coarsely.",
            remedy: "Choose the trip again; with coarse shapes raise RIDER_MAX_SHAPE_DISTANCE."
        ),
        Check(
            id: .regression,
            title: "The rider went back along the shape",
            effect: "implausible",
            reason: "A vehicle does not reverse; a rider on the opposite direction does just that.",
            measure: "metres along the shape since the last match, at least −maxRegressionMeters",
            source: "seed 4.5 rule 3",
            commonMistake: "The rider chose the trip of the other direction.",
            remedy: "Choose the trip by direction and headsign."
        ),
        Check(
            id: .speed,
            title: "The rider moved too fast along the shape",
            effect: "implausible",
            reason: "Faster than a vehicle can be means another place or another shape.",
            measure: "metres per second since the last match, at most maxSpeedMetersPerSecond",
            source: "seed 4.5 rule 3",
            commonMistake: "A fix jumped between high buildings, or the trip is a fast train.",
            remedy: "For railways raise RIDER_MAX_SPEED."
        ),
        Check(
            id: .early,
            title: "The point is too early for the trip",
            effect: "off_schedule",
            reason: "Vehicles rarely run ahead; an earlier trip of the line is more likely.",
            measure: "seconds behind the schedule, at least −scheduleEarlySeconds",
            source: "seed 4.5 rule 4",
            commonMistake: "The rider chose a later trip of the line.",
            remedy: "Offer trips by the time they pass the boarding stop."
        ),
        Check(
            id: .late,
            title: "The point is too late for the trip",
            effect: "off_schedule",
            reason: "A vehicle this late is more likely another trip of the line.",
            measure: "seconds behind the schedule, at most scheduleLateSeconds",
            source: "seed 4.5 rule 4",
            commonMistake: "The rider chose an earlier trip, or yesterday's date.",
            remedy: "Offer trips by the time they pass the boarding stop."
        ),
        Check(
            id: .contradiction,
            title: "The trusted vehicle is elsewhere",
            effect: "contradicted, and still matched",
            reason: "The agency or a driver knows where the vehicle of the trip is.",
            measure:
                "metres along the shape between both, at most corroborationBaseMeters + "
                + "maxSpeedMetersPerSecond × seconds between the fixes + contradictionExtraMeters",
            source: "seed 4.5, corroboration",
            commonMistake: "The rider is on the vehicle before or behind.",
            remedy: "Choose the trip again; the rules end the ride soon."
        ),
    ]

    private static let rideChecks: [Check] = [
        Check(
            id: .failedStreak,
            title: "Too many points failed in a row",
            effect: "rejected as off_route, implausible or off_schedule; score −1",
            reason: "One bad fix is noise, several in a row are another vehicle.",
            measure: "accepted points without a match between them, fewer than rejectStreak",
            source: "seed 4.6",
            commonMistake: "The rider got off and forgot to stop sharing.",
            remedy: "End the ride at the destination."
        ),
        Check(
            id: .contradictedStreak,
            title: "Too many points were contradicted",
            effect: "rejected as contradicted; score −3",
            reason: "A rider who disagrees with the agency over and over is not on the vehicle.",
            measure:
                "contradicted points without an agreement between them, fewer than contradictStreak",
            source: "seed 4.6",
            commonMistake: "The agency put the wrong trip on the vehicle.",
            remedy: "Compare the agency's feed with the street; the ride's points show the gap."
        ),
        Check(
            id: .idle,
            title: "The ride is silent",
            effect: "ended as idle",
            reason: "A ride that reports nothing must not stay open.",
            measure: "seconds since the last accepted point or the start, at most idleSeconds",
            source: "seed 4.2",
            commonMistake: "The app was ended by the system.",
            remedy: "Start another ride."
        ),
        Check(
            id: .maxDuration,
            title: "The ride is too long",
            effect: "ended as max_duration",
            reason: "Nobody rides one bus for longer; a phone was forgotten.",
            measure: "seconds since the start, at most maxRideSeconds",
            source: "seed 4.2",
            commonMistake: "A very long trip.",
            remedy: "Start another ride."
        ),
    ]

    private static let tripChecks: [Check] = [
        Check(
            id: .consensus,
            title: "The riders of a trip do not agree on its place",
            effect: "the trip is not published",
            reason: "Nobody trusted says so, and no two riders say the same.",
            measure: "metres along the shape between two riders, at most consensusMeters",
            source: "seed 4.8",
            commonMistake: "The only rider is new.",
            remedy: "None needed: a second rider or a trusted vehicle settles it."
        ),
        Check(
            id: .outlier,
            title: "The rider's place is far from the others'",
            effect: "the rider is left out; nothing is published if the rest could not be alone",
            reason: "One wrong phone must not move the published vehicle.",
            measure: "metres along the shape from the median, at most outlierMeters",
            source: "seed 4.8, sharpened by D6",
            commonMistake: "Two vehicles run the same trip.",
            remedy: "None needed."
        ),
    ]
}

extension CheckCatalogue {
    /// The text of `docs/reference/verifier-checks.md`, which a test keeps equal to this.
    public static var markdown: String {
        var text = """
            # Checks of the verifier

            Generated from `CheckCatalogue` and `Thresholds` in `services/verifier/Verification`.
            The checks are made in this order; the first that a point fails decides its outcome. A value on
            its limit passes. The checks of witnesses compare two rides of a trip, and never decide about a point or a ride.

            """
        for check in all {
            text += """

                ## `\(check.id.rawValue)`

                \(check.title).

                | | |
                |---|---|
                | When it fails | \(check.effect) |
                | Measured | \(check.measure) |
                | Why | \(check.reason) |
                | Common mistake | \(check.commonMistake) |
                | Remedy | \(check.remedy) |
                | Source | \(check.source) |

                """
            guard let control = check.control else { continue }
            text += """
                | Mode | \(control.mode) |
                | Counter | \(control.counter) |

                """
        }
        text += """

            ## Thresholds

            | Threshold | Default | Set by | Source |
            |---|---|---|---|

            """
        for entry in Thresholds().entries {
            let setting = entry.setting.map { "`\($0)`" } ?? "fixed"
            text += "| `\(entry.name)` | \(entry.value) | \(setting) | \(entry.source) |\n"
        }
        return text
    }
}
