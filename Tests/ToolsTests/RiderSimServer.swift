import FoundationEssentials
import TestKit
import Transit
import VehiclePositionsKit

/// A clock whose sleepers wake one after the other, as fast as the machine allows.
final class EventClock: RideClock {
    private let time = ManualTime()

    var now: Date { Date(timeIntervalSince1970: 1_796_025_650 + time.elapsed / .seconds(1)) }

    func sleep(for duration: Duration) async throws { try await time.sleep(for: duration) }

    /// Runs a piece of work, moving to the next deadline whenever everyone had time to act.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
        let mover = Task { [time] in
            while !Task.isCancelled {
                for _ in 0..<200 { await Task.yield() }
                time.advanceToNext()
            }
        }
        defer { mover.cancel() }
        return await Task { await work() }.value
    }
}

/// Answers as the server does, with the one rule that matters here: five points beside the shape.
actor SimulatedServer: RideTransport {
    struct Positions: Decodable {
        struct Position: Decodable {
            var latitude: Double
            var longitude: Double
            var timestamp: Int64
        }
        var positions: [Position]
    }

    private(set) var calls: [String] = []
    private(set) var points: [String: [Positions.Position]] = [:]
    private var reasons: [String] = []
    private let shape: ShapeGeometry
    private var busyRegistrations: Int
    private var rides = 0
    private var streaks: [String: Int] = [:]

    init(shape: ShapeGeometry, busyRegistrations: Int = 0) {
        self.shape = shape
        self.busyRegistrations = busyRegistrations
    }

    /// What riders said at their ends, once so many have; a late end call goes on by itself.
    func reasons(count: Int) async -> [String] {
        while reasons.count < count { await Task.yield() }
        return reasons
    }

    func send(_ request: RiderRequest, baseURL: URL) async throws -> RiderResponse {
        let parts = request.path.split(separator: "/")
        let last = String(parts.last ?? "")
        calls.append(last)
        let body = request.body ?? Data()
        switch last {
        case "register":
            if busyRegistrations > 0 {
                busyRegistrations -= 1
                return RiderResponse(status: 429, body: Data(), retryAfter: .seconds(20))
            }
            return answer(201, #"{"rider_id":"r","token":"t"}"#)
        case "rides":
            rides += 1
            return answer(
                201,
                """
                {"ride_id":"ride\(rides)","state":"pending","report_interval_seconds":5,
                 "max_batch_size":12}
                """
            )
        case "end":
            reasons.append(String(decoding: body, as: UTF8.self))
            return answer(
                200,
                """
                {"status":"ride ended",
                 "summary":{"points":1,"matched":1,"corroborated":0,"duration_seconds":1}}
                """
            )
        default:
            let positions = try JSONDecoder().decode(Positions.self, from: body).positions
            return judge(positions, ride: String(parts[parts.count - 2]))
        }
    }

    private func judge(_ positions: [Positions.Position], ride: String) -> RiderResponse {
        points[ride, default: []] += positions
        for position in positions {
            let place = Transit.Coordinate(
                latitude: position.latitude,
                longitude: position.longitude
            )
            let isOff = shape.project(place).distanceToShape > 80
            streaks[ride] = isOff ? (streaks[ride] ?? 0) + 1 : 0
        }
        let streak = streaks[ride] ?? 0
        return answer(
            200,
            """
            {"state":"\(streak >= 5 ? "rejected" : "verified")","published":false,
             "corroboration":"none","accepted":\(positions.count),"ignored":0,
             "off_route_streak":\(streak),"ended":\(streak >= 5),
             "end_reason":"\(streak >= 5 ? "off_route" : "")"}
            """
        )
    }

    private func answer(_ status: Int, _ body: String) -> RiderResponse {
        RiderResponse(status: status, body: Data(body.utf8))
    }
}
