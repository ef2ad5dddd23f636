internal import Messages
internal import Web

extension RideRefusal {
    /// The refusal as the rider's phone hears it (spec 2.2-2.6, seed 4.4).
    var httpError: HTTPError {
        switch code {
        case .unknownTrip:
            HTTPError(status: 404, code: "trip.unknown", message: "unknown trip")
        case .tripNotActive:
            HTTPError(
                status: 422,
                code: "trip.not_active",
                message: "trip not active on start_date"
            )
        case .routeMismatch:
            HTTPError(
                status: 422,
                code: "trip.route_mismatch",
                message: "route_id does not match the trip"
            )
        case .scheduleUnavailable:
            HTTPError(
                status: 503,
                code: "schedule.unavailable",
                message: "schedule data unavailable",
                retryAfter: max(2, retryAfterSeconds)
            )
        case .rideNotFound: .rideNotFound
        case .rideEnded:
            HTTPError(
                status: 409,
                code: "ride.ended",
                message: "ride ended",
                details: endReason.isEmpty ? [] : [.init("end_reason", endReason)]
            )
        case .unknownRider:
            HTTPError(
                status: 401,
                code: "rider.unknown",
                message: "unknown rider",
                challenge: .anotherBearer
            )
        case .tooManyReports:
            HTTPError(
                status: 429,
                code: "rate.positions",
                message: "too many position reports, slow down",
                retryAfter: max(1, retryAfterSeconds)
            )
        case .tooManyRideChanges:
            HTTPError(
                status: 429,
                code: "rate.rides",
                message: "too many ride changes, slow down",
                retryAfter: max(1, retryAfterSeconds)
            )
        case .notOwner, .unavailable:
            HTTPError(
                status: 503,
                code: "verification.unavailable",
                message: "verification unavailable, try again",
                retryAfter: max(2, retryAfterSeconds)
            )
        case .invalid: .badRequest("invalid request")
        case .failed: .failure
        }
    }
}

extension HTTPError {
    static let rideNotFound = HTTPError(
        status: 404,
        code: "ride.not_found",
        message: "ride not found"
    )
}
