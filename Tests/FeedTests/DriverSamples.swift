import Messages
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// The JSON of a driver's report, with every member replaceable by any text.
struct ReportBody: Sendable {
    var members: [(String, String)]

    init(
        _ vehicle: String = "bus-1",
        at timestamp: UnixSeconds = ManualClock().now,
        latitude: String = "47.6045",
        longitude: String = "-122.33"
    ) {
        members = [
            ("vehicle_id", "\"\(vehicle)\""), ("latitude", latitude), ("longitude", longitude),
            ("timestamp", String(timestamp)),
        ]
    }

    /// The same with a member set to JSON, or left out when it is nil.
    func with(_ name: String, _ json: String?) -> ReportBody {
        var copy = self
        copy.members.removeAll { $0.0 == name }
        if let json { copy.members.append((name, json)) }
        return copy
    }

    func on(_ trip: String, _ date: String? = nil) -> ReportBody {
        with("trip_id", "\"\(trip)\"").with("start_date", date.map { "\"\($0)\"" })
    }

    var text: String {
        "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }
}

/// A batch of reports.
func batch(_ reports: [ReportBody]) -> String {
    "{\"locations\":[" + reports.map(\.text).joined(separator: ",") + "]}"
}

extension HTTPClientResponse {
    /// The answer read as JSON.
    var json: JSONValue {
        get throws { try JSONValue(parsing: body) }
    }

    /// The sentence of a refusal; nil for any other answer.
    var refusal: String? { try? json["error"]?.text }
}

extension JSONValue {
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == name }?.value
    }

    subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var number: Double? {
        guard case .number(let number) = self else { return nil }
        return number.double
    }

    var flag: Bool? {
        guard case .flag(let flag) = self else { return nil }
        return flag
    }

    /// The elements of an array, none for anything else.
    var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// The names of an object's members, in order.
    var keys: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.key)
    }
}

extension LiveVehicle {
    /// A report of a driver who is assigned, a second ago.
    static func sample(
        _ id: VehicleID = "bus-1",
        trip: TripID = "T1",
        date: ServiceDate? = .monday,
        route: RouteID = "",
        latitude: Double = 47.6045,
        at reportedAt: UnixSeconds = TripEstimate.now,
        assigned: Bool = true,
        revision: Int64 = 1
    ) -> LiveVehicle {
        LiveVehicle(
            vehicleID: id,
            tripID: trip,
            routeID: route,
            startDate: date,
            latitude: latitude,
            longitude: -122.33,
            bearing: nil,
            speed: nil,
            timestamp: reportedAt,
            reportedAt: reportedAt,
            receivedAt: reportedAt,
            driverID: UniqueID(high: 1, low: 1),
            isAssigned: assigned,
            revision: revision
        )
    }
}
