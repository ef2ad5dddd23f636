import Foundation

#if canImport(CoreLocation)
internal import CoreLocation
#endif

/// One position as the server reads it.
struct RiderPosition: Codable, Equatable, Sendable {
    var latitude: Double
    var longitude: Double
    var accuracy: Double?
    var speed: Double?
    var bearing: Double?
    /// POSIX seconds, whole.
    var timestamp: Int64

    /// Nil for an update without a usable fix; one bad position would cost its whole batch.
    init?(_ sample: LocationSample) {
        let seconds = sample.timestamp.timeIntervalSince1970
        guard let coordinate = sample.coordinate, coordinate.isOnEarth,
            seconds >= 1, seconds < 1e11
        else {
            return nil
        }
        // A millionth of a degree is 0.1 m: finer digits are noise on the wire. So are parts of a
        // degree of course; those of the accuracy tell one phone from another (witness checks).
        latitude = Self.rounded(coordinate.latitude, to: 1e6)
        longitude = Self.rounded(coordinate.longitude, to: 1e6)
        accuracy = Self.reading(sample.horizontalAccuracy, to: 10)
        speed = Self.reading(sample.speed, to: 10)
        bearing = sample.course <= 360 ? Self.reading(sample.course, to: 1) : nil
        timestamp = Int64(seconds)
    }

    /// More metres or metres per second than this measure nothing, and JSON has no infinity.
    private static let largestReading = 1e6

    private static func reading(_ value: Double, to scale: Double) -> Double? {
        (0...largestReading).contains(value) ? rounded(value, to: scale) : nil
    }

    private static func rounded(_ value: Double, to scale: Double) -> Double {
        (value * scale).rounded() / scale
    }
}

struct RegistrationBody: Codable, Equatable {
    var installationID: String
    var platform: String
    var appID: String
    var appVersion: String

    enum CodingKeys: String, CodingKey {
        case installationID = "installation_id"
        case platform
        case appID = "app_id"
        case appVersion = "app_version"
    }
}

struct RegistrationAnswer: Codable, Equatable {
    var riderID: String
    var token: String

    enum CodingKeys: String, CodingKey {
        case riderID = "rider_id"
        case token
    }
}

struct RideAnswer: Codable, Equatable {
    struct Destination: Codable, Equatable {
        var stopID: String
        var latitude: Double
        var longitude: Double

        enum CodingKeys: String, CodingKey {
            case stopID = "stop_id"
            case latitude
            case longitude
        }
    }

    var rideID: String
    var state: RideState
    var reportIntervalSeconds: Int
    var maxBatchSize: Int
    var destination: Destination?

    enum CodingKeys: String, CodingKey {
        case rideID = "ride_id"
        case state
        case reportIntervalSeconds = "report_interval_seconds"
        case maxBatchSize = "max_batch_size"
        case destination
    }
}

struct PositionsBody: Codable, Equatable {
    var positions: [RiderPosition]
}

struct PositionsAnswer: Codable, Equatable {
    var state: RideState
    var published: Bool
    var corroboration: Corroboration
    var accepted: Int
    var ignored: Int
    var offRouteStreak: Int
    var ended: Bool
    var endReason: String
    /// A newer cadence, when the server changes it during the ride.
    var reportIntervalSeconds: Int?

    enum CodingKeys: String, CodingKey {
        case state
        case published
        case corroboration
        case accepted
        case ignored
        case offRouteStreak = "off_route_streak"
        case ended
        case endReason = "end_reason"
        case reportIntervalSeconds = "report_interval_seconds"
    }
}

extension PositionsAnswer {
    /// Reads an answer.
    ///
    /// The cadence is beyond the first protocol: one that makes no sense is none, and costs no batch.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        state = try container.decode(RideState.self, forKey: .state)
        published = try container.decode(Bool.self, forKey: .published)
        corroboration = try container.decode(Corroboration.self, forKey: .corroboration)
        accepted = try container.decode(Int.self, forKey: .accepted)
        ignored = try container.decode(Int.self, forKey: .ignored)
        offRouteStreak = try container.decode(Int.self, forKey: .offRouteStreak)
        ended = try container.decode(Bool.self, forKey: .ended)
        endReason = try container.decode(String.self, forKey: .endReason)
        reportIntervalSeconds = try? container.decode(Int.self, forKey: .reportIntervalSeconds)
    }
}

struct EndBody: Codable, Equatable {
    var reason: RideEndReason
}

struct EndAnswer: Codable, Equatable {
    var status: String
    var summary: RideSummary
}

/// The body of every refusal; servers may leave out all but the sentence.
struct ErrorAnswer: Codable, Equatable {
    var error: String
    var code: String?
    var endReason: String?

    enum CodingKeys: String, CodingKey {
        case error
        case code
        case endReason = "end_reason"
    }
}
