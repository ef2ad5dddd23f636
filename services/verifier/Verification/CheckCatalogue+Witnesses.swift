extension CheckCatalogue {
    /// The checks that tell two witnesses from one rider with two phones, or a script with a hundred.
    static let witnessChecks: [Check] = [
        witness(
            .lockstep,
            title: "Two riders report at the same seconds",
            effect: movement,
            reason:
                "Phones take their fixes when they can; one program for many rides takes them all at once.",
            measure:
                "points at the same second, of nine in ten, at least witnessLockstepPoints; not "
                + "where both report each second",
            commonMistake:
                "Two phones that report each fifth second share the second one time in five.",
            remedy: "None needed: alone it refuses nobody."
        ),
        witness(
            .residuals,
            title: "Two riders lie equally far from the shape, point by point",
            effect: movement,
            reason: "Noise of two receivers differs; one trace with two clocks does not.",
            measure: "neighbouring points whose distances from the shape differ by at most "
                + "witnessResidualMeters, at least witnessResidualPoints; those nearer than "
                + "witnessResidualFloorMeters are passed over",
            commonMistake: "Fixes that the phone has snapped to a line beside ours.",
            remedy: "None needed: alone it refuses nobody."
        ),
        witness(
            .motion,
            title: "Two riders both move too evenly",
            effect: movement,
            reason:
                "Traffic and stops change a vehicle's speed slowly and by much; a script keeps its "
                + "speed and adds noise.",
            measure:
                "metres from constant speed over 16 points, at least witnessMotionMeters, of which "
                + "jumps to and fro at most witnessMotionJumps, or at least witnessMotionSureMeters; "
                + "once is enough for a ride",
            commonMistake: "A bus that stands, and the first minute or two of every ride.",
            remedy: "None needed: alone it refuses nobody, and the next stop settles it."
        ),
        witness(
            .constantAccuracy,
            title: "The accuracy of two riders never changes",
            effect: movement,
            reason:
                "Receivers revise what they can promise; a script repeats one number or sends none.",
            measure: "whether the reported accuracy of either changed since the start",
            commonMistake: "An app that does not report the accuracy.",
            remedy: "Report the accuracy of each fix."
        ),
        witness(
            .replay,
            title: "Two riders went through the same places to the metre",
            effect: "the two are one witness",
            reason: "No two phones report the same places; one recording that is sent twice does.",
            measure:
                "places in a row, each another than the one before, at least witnessReplayPoints",
            commonMistake: "One phone that is registered twice.",
            remedy: "None needed for riders; it is what the check is for."
        ),
        witness(
            .install,
            title: "The apps of two riders are of one build and were installed in one second",
            effect: "shown and counted; never decides",
            reason: "A script that makes riders makes many at once.",
            measure: "the second of the first registration, and platform, app and version",
            commonMistake: "A class or a fleet that installs an app together.",
            remedy: "None needed."
        ),
        witness(
            .address,
            title: "The apps of two riders registered from one block of addresses",
            effect: "shown and counted; never decides",
            reason: "A script that makes riders has one network.",
            measure:
                "a keyed hash of the /24 or /48 that the app registered from; loopback, private and "
                + "shared blocks say nothing, and no address is stored",
            commonMistake: "A family, an office or a carrier's network.",
            remedy: "None needed."
        ),
    ]

    private static let movement =
        "two of the four checks of movement together make the two one witness"

    private static func witness(
        _ id: CheckID,
        title: String,
        effect: String,
        reason: String,
        measure: String,
        commonMistake: String,
        remedy: String
    ) -> Check {
        Check(
            id: id,
            title: title,
            effect: effect,
            reason: reason,
            measure: measure,
            source: "the seed's risk of colluding devices (section 7), decision 0072",
            commonMistake: commonMistake,
            remedy: remedy,
            control: CheckControl(
                mode: "`RIDER_WITNESS_CHECKS`: `off`, `count` or `enforce`",
                counter: "`witness_marks_total{check=\"\(id.rawValue)\"}`"
            )
        )
    }
}
