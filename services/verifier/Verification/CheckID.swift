/// The stable name of a check, as stored, counted and shown.
public enum CheckID: String, Sendable, CaseIterable {
    /// The coordinates are no place.
    case coordinates = "point.coordinates"
    /// The fix is too vague.
    case accuracy = "point.accuracy"
    /// The point arrived too late.
    case age = "point.age"
    /// The point is dated in the future.
    case lead = "point.lead"
    /// The point is not newer than one already accepted.
    case order = "point.order"
    /// The point is too far from the shape.
    case distance = "shape.distance"
    /// The rider went back along the shape.
    case regression = "shape.regression"
    /// The rider moved too fast along the shape.
    case speed = "shape.speed"
    /// The point is too early for the trip.
    case early = "schedule.early"
    /// The point is too late for the trip.
    case late = "schedule.late"
    /// The trusted vehicle is elsewhere.
    case contradiction = "trusted.contradiction"
    /// Too many points failed in a row.
    case failedStreak = "ride.failed_streak"
    /// Too many points were contradicted.
    case contradictedStreak = "ride.contradicted_streak"
    /// The ride is silent.
    case idle = "ride.idle"
    /// The ride is too long.
    case maxDuration = "ride.max_duration"
    /// The riders of a trip do not agree on its place.
    case consensus = "trip.consensus"
    /// The rider's place is far from the others'.
    case outlier = "trip.outlier"
    /// Two riders report at the same seconds.
    case lockstep = "witness.lockstep"
    /// Two riders lie equally far from the shape, point by point.
    case residuals = "witness.residuals"
    /// Two riders both move too evenly.
    case motion = "witness.motion"
    /// The accuracy of two riders never changes.
    case constantAccuracy = "witness.accuracy"
    /// Two riders went through the same places to the metre.
    case replay = "witness.replay"
    /// The apps of two riders are of one build and were installed in one second.
    case install = "witness.install"
    /// The apps of two riders registered from one block of addresses.
    case address = "witness.address"
}
