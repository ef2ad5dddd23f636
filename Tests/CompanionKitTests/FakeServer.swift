import Foundation
import Synchronization

@testable import CompanionKit

/// Answers the social calls from a small world, and remembers what was asked.
final class FakeServer: CompanionTransport {
    struct Failure: Error {}

    struct World: Sendable {
        var circles: [CompanionGroup] = []
        /// Metres north of the middle, and the radius.
        var places: [GroupID: [(id: PlaceID, meters: Double, radius: Double)]] = [:]
        var events: [GroupID: [CircleEvent]] = [:]
        /// Events that the server has, by the phone's id.
        var announced: [String] = []
        var isPaused = false
        /// Paths that fail, each with a status, or with nil for a dead network.
        var failures: [(path: String, status: Int?)] = []
        /// The answer arrives at the server and gets lost on the way back.
        var losesAnswers = false
        /// What happens while a path is answered, once.
        var meanwhile: (path: String, action: @Sendable () async -> Void)?
    }

    private struct State {
        var world = World()
        var requests: [CompanionRequest] = []
    }

    private let state = Mutex(State())

    var requests: [CompanionRequest] { state.withLock { $0.requests } }

    func change(_ change: (inout World) -> Void) { state.withLock { change(&$0.world) } }

    var announced: [String] { state.withLock { $0.world.announced } }

    func requests(_ method: String, _ path: String) -> [CompanionRequest] {
        requests.filter { $0.method == method && $0.path == path }
    }

    /// The bodies of the events that were posted, in order.
    func postedEvents(in circle: GroupID = Groups.circle) -> [[String: JSONValue]] {
        requests("POST", "/api/circles/\(circle)/events").compactMap(\.json)
    }

    func send(_ request: CompanionRequest, serverURL: URL) async throws -> CompanionResponse {
        try Task.checkCancellation()
        let meanwhile = state.withLock { state in
            state.requests.append(request)
            guard state.world.meanwhile?.path == request.path else {
                return nil as (@Sendable () async -> Void)?
            }
            defer { state.world.meanwhile = nil }
            return state.world.meanwhile?.action
        }
        await meanwhile?()
        return try state.withLock { state in
            if let failure = state.world.failures.first(where: { request.path == $0.path }) {
                guard let status = failure.status else { throw Failure() }
                return CompanionResponse(
                    status: status,
                    body: Data(#"{"error":"refused","code":"test.refused"}"#.utf8)
                )
            }
            return try Self.answer(request, &state.world)
        }
    }

    private static func answer(
        _ request: CompanionRequest,
        _ world: inout World
    ) throws -> CompanionResponse {
        let parts = request.path.split(separator: "/").map(String.init)
        switch (request.method, parts.count, parts.last) {
        case ("GET", 2, "circles"):
            return .json(.list(world.circles.map(\.json)))
        case ("POST", 3, "fix"):
            return CompanionResponse(status: 204)
        case ("GET", 4, "places"):
            let places = GroupID(parts[2]).flatMap { world.places[$0] } ?? []
            return .json(
                .object(["places": .list(places.map { place($0.id, $0.meters, $0.radius) })])
            )
        case ("POST", 4, "events"):
            return try record(request, &world)
        case ("GET", 4, "events"):
            let after = Int64(request.query["after"] ?? "") ?? 0
            let events = GroupID(parts[2]).flatMap { world.events[$0] } ?? []
            return .json(
                .object(["events": .list(events.filter { $0.sequence > after }.map(\.json))])
            )
        default:
            return CompanionResponse(status: 404)
        }
    }

    private static func record(
        _ request: CompanionRequest,
        _ world: inout World
    ) throws -> CompanionResponse {
        guard !world.isPaused else { return CompanionResponse(status: 204) }
        var body = request.json ?? [:]
        let id = body["clientEventId"]?.text ?? ""
        if !world.announced.contains(id) { world.announced.append(id) }
        if world.losesAnswers { throw Failure() }
        body["id"] = body["clientEventId"]
        body["seq"] = .integer(Int64(world.announced.count))
        body["placeName"] = .text("Home")
        body["riderId"] = .text(People.me.description)
        return .json(.object(body))
    }

    private static func place(_ id: PlaceID, _ meters: Double, _ radius: Double) -> JSONValue {
        let middle = Places.north(meters)
        return .object([
            "id": .text(id.description), "ownerId": .text(People.ann.description),
            "name": .text("Home"), "radiusMeters": .number(radius), "createdAtMs": .integer(1),
            "place": .object([
                "id": .integer(1), "lat": .number(middle.latitude),
                "lon": .number(middle.longitude),
            ]),
        ])
    }
}

extension CompanionResponse {
    static func json(_ value: JSONValue, status: Int = 200) -> CompanionResponse {
        CompanionResponse(status: status, body: (try? JSONEncoder().encode(value)) ?? Data())
    }
}

extension CompanionRequest {
    var json: [String: JSONValue]? {
        body.flatMap { try? JSONDecoder().decode(JSONValue.self, from: $0) }?.object
    }
}

extension CompanionGroup {
    /// A circle of mine.
    static func circle(
        _ id: GroupID = Groups.circle,
        sharing: Bool = true,
        status: MembershipStatus = .accepted,
        name: String = "Family"
    ) -> CompanionGroup {
        CompanionGroup(
            id: id,
            kind: .circle,
            name: name,
            ownerID: People.ann,
            status: status,
            members: [
                GroupMember(id: People.me, username: "Me", status: status, sharing: sharing),
                GroupMember(id: People.ann, username: "ann", status: .accepted, sharing: true),
            ]
        )
    }

    var json: JSONValue {
        .object([
            "id": .text(id.description), "kind": .text(kind.rawValue), "name": .text(name),
            "ownerId": ownerID.map { .text($0.description) } ?? .null, "status": .text(status.name),
            "members": .list(
                members.map { member in
                    .object([
                        "id": .text(member.id.description), "username": .text(member.username),
                        "status": .text(member.status.name),
                        "sharing": member.sharing.map { .bool($0) } ?? .null,
                    ])
                }
            ),
        ])
    }
}

extension CircleEvent {
    var json: JSONValue {
        .object([
            "id": .text(id.description), "seq": .integer(sequence),
            "placeId": .text(placeID.description), "placeName": .text(placeName),
            "riderId": .text(riderID.description), "kind": .text(kind.rawValue),
            "timestampMs": .integer(occurredAt.milliseconds),
        ])
    }
}
