import Foundation
import Testing

@testable import CompanionKit

/// The calls as groups answers them (spec 1.2 to 1.7).
@Suite struct CompanionAPITests {
    let session = FakeSession()

    func api(_ transport: ScriptedTransport) -> CompanionAPI {
        CompanionAPI(transport: transport, session: session)
    }

    static let group = """
        {"id":"\(Groups.circle)","kind":"circle","name":"Family","ownerId":null,"status":"accepted",
         "members":[{"id":"\(People.me)","username":"me","status":"accepted","sharing":false},
         {"id":"\(People.ann)","username":"ann","status":"invited","sharing":null}],"later":1}
        """

    @Test(arguments: GroupKind.allCases)
    func `takes the kind as an argument`(kind: GroupKind) async throws {
        let transport = ScriptedTransport(.answer(201, Self.group), .answer(200, "[\(Self.group)]"))
        let made = try await api(transport).createGroup(kind, name: "Family")
        #expect(made.members.map(\.sharing) == [false, nil])
        #expect(made.members.map(\.status) == [.accepted, .invited])
        #expect(!made.isShared(by: People.me) && !made.isShared(by: People.ann))
        #expect(try await api(transport).groups(kind) == [made])
        let requests = transport.requests
        #expect(requests.map(\.method) == ["POST", "GET"])
        #expect(requests.map(\.path) == ["/api/\(kind)s", "/api/\(kind)s"])
        #expect(requests[0].json == ["name": .text("Family")])
        #expect(requests[1].bearerToken == "token-1")
    }

    @Test func `invites, answers and leaves`() async throws {
        let transport = ScriptedTransport(
            .answer(200, #"{"status":"invited"}"#),
            .answer(200, #"{"status":"accepted"}"#),
            .answer(200, #"{"status":"declined"}"#),
            .answer(204),
            .answer(200, #"{"sharing":true}"#)
        )
        let api = api(transport)
        #expect(try await api.invite("ann", to: Groups.circle) == .invited)
        #expect(try await api.respond(to: Groups.circle, accepting: true) == .accepted)
        #expect(try await api.respond(to: Groups.circle, accepting: false) == .declined)
        try await api.leave(Groups.circle)
        #expect(try await api.setSharing(true, in: Groups.circle))
        let requests = transport.requests
        #expect(
            requests.map { "\($0.method) \($0.path)" } == [
                "POST /api/groups/\(Groups.circle)/invitations",
                "POST /api/groups/\(Groups.circle)/invitations/respond",
                "POST /api/groups/\(Groups.circle)/invitations/respond",
                "DELETE /api/groups/\(Groups.circle)/membership",
                "PUT /api/circles/\(Groups.circle)/sharing",
            ]
        )
        #expect(requests[2].json == ["accept": .bool(false)])
    }

    @Test func `shares places and reads them back`() async throws {
        let place = """
            {"places":[{"id":"\(Places.home)","ownerId":"\(People.ann)","name":"Home",
             "radiusMeters":150,"createdAtMs":5,"place":{"id":7,"lat":46,"lon":14.5,"icon":"h"}},
             {"id":"\(Places.work)","ownerId":"\(People.ann)","name":"Place","radiusMeters":1,
             "createdAtMs":4,"place":{"id":8}}]}
            """
        let transport = ScriptedTransport(
            .answer(200, #"{"id":"\#(Places.home)"}"#),
            .answer(200, place),
            .answer(204)
        )
        let api = api(transport)
        let new = NewPlace(
            number: 7,
            name: "Home",
            radiusMeters: 150,
            coordinate: Places.middle,
            details: ["icon": .text("h")]
        )
        #expect(try await api.share(new, in: Groups.circle) == Places.home)
        let places = try await api.places(in: Groups.circle)
        #expect(places.map(\.coordinate) == [Places.middle, nil])
        #expect(places[0].details["icon"] == .text("h"))
        try await api.removePlace(Places.home)
        #expect(
            transport.requests[0].json?["place"]?.object == [
                "id": .integer(7), "name": .text("Home"), "radiusMeters": .integer(150),
                "lat": .integer(46), "lon": .number(14.5), "icon": .text("h"),
            ]
        )
        #expect(transport.requests[2].path == "/api/circle-places/\(Places.home)")
    }

    @Test func `reads fixes, friends and who can see the person`() async throws {
        let transport = ScriptedTransport(
            .answer(
                200,
                #"{"fixes":[{"riderId":"\#(People.ann)","latitude":46,"longitude":14.5,"#
                    + #""accuracyMeters":null,"timestampMs":1500}]}"#
            ),
            .answer(
                200,
                #"{"riders":[{"rider":{"id":"\#(People.ann)","username":"ann"},"relation":"friend"},"#
                    + #"{"rider":{"id":"\#(People.bob)","username":"bob"},"relation":"declined"}]}"#
            ),
            .answer(
                200,
                #"{"audience":[{"group":{"id":"\#(Groups.circle)","kind":"circle","name":"F"},"#
                    + #""members":[{"id":"\#(People.ann)","username":"ann"}],"reason":"sharing"}]}"#
            )
        )
        let api = api(transport)
        let fix = try await api.fixes(in: Groups.circle)[0]
        #expect(fix.measuredAt == Date(timeIntervalSince1970: 1.5) && fix.accuracyMeters == nil)
        #expect(try await api.friends().map(\.relation) == [.friend, .unknown("declined")])
        #expect(try await api.audience().map(\.reason) == ["sharing"])
    }

    @Test func `tells a refusal with its code and its time`() async throws {
        let body = Data(#"{"error":"the circle is full","code":"group.circle_full"}"#.utf8)
        let transport = ScriptedTransport(
            .success(CompanionResponse(status: 422, body: body, retryAfter: .seconds(3)))
        )
        await #expect {
            _ = try await api(transport).invite("ann", to: Groups.circle)
        } throws: { error in
            let error = error as? CompanionError
            return error?.code == "group.circle_full" && error?.isWorthRepeating == false
                && error?.errorDescription == "the circle is full"
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `replaces a refused token once, and once only`() async throws {
        session.set(tokens: ["old", "new"])
        let transport = ScriptedTransport(.answer(401), .answer(200, "[]"))
        #expect(try await api(transport).groups(.circle).isEmpty)
        #expect(transport.requests.map(\.bearerToken) == ["old", "new"])
        let stubborn = ScriptedTransport(.answer(401))
        await #expect(throws: CompanionError.notSignedIn) {
            try await api(stubborn).groups(.circle)
        }
        #expect(stubborn.requests.count == 2)
    }

    @Test func `sends nobody's token once somebody else has signed in`() async throws {
        let transport = ScriptedTransport(.answer(200, "[]"))
        session.meanwhile { [session] in session.signIn(People.bob) }
        await #expect(throws: CompanionError.notSignedIn) {
            _ = try await api(transport).groups(.circle)
        }
        await #expect(throws: CompanionError.notSignedIn) {
            _ = try await api(transport).acting(as: People.me).groups(.circle)
        }
        #expect(transport.requests.isEmpty)
        _ = try await api(transport).acting(as: People.bob).groups(.circle)
        #expect(transport.requests.count == 1)
    }

    @Test func `a row that cannot be read costs itself alone`() async throws {
        let place = """
            {"id":"\(Places.home)","ownerId":"\(People.ann)","name":"Home","radiusMeters":150,
             "place":{"lat":46,"lon":14.5}}
            """
        let event = """
            {"id":"\(Places.home)","seq":7,"placeId":"\(Places.home)","placeName":"Home",
             "riderId":"\(People.ann)","kind":"arrive","timestampMs":5}
            """
        let fix = """
            {"riderId":"\(People.ann)","latitude":46,"longitude":14.5,"timestampMs":5}
            """
        let transport = ScriptedTransport(
            .answer(200, #"{"places":[\#(place.replacing("46", with: "1e999")),\#(place),null]}"#),
            .answer(200, #"{"events":[\#(event.replacing("arrive", with: "nap")),\#(event),{}]}"#),
            .answer(200, #"{"fixes":[5,\#(fix)]}"#)
        )
        #expect(try await api(transport).places(in: Groups.circle).map(\.id) == [Places.home])
        #expect(try await api(transport).events(in: Groups.circle).map(\.sequence) == [7])
        #expect(try await api(transport).fixes(in: Groups.circle).map(\.riderID) == [People.ann])
    }

    @Test(arguments: [Int64.min, -1, 0, 1_800_000_000_123, .max])
    func `any instant of the wire goes back to it`(milliseconds: Int64) {
        // A date is a number of seconds with 53 bits: far away they are coarse.
        let back = Date(milliseconds: milliseconds).milliseconds
        let tolerance = milliseconds.magnitude > 1 << 50 ? 4096.0 : 0
        #expect(abs(Double(back) - Double(milliseconds)) <= tolerance)
    }

    @Test func `sends nothing while nobody is signed in`() async throws {
        session.signIn(nil)
        let transport = ScriptedTransport(.answer(200, "[]"))
        await #expect(throws: CompanionError.notSignedIn) {
            try await api(transport).groups(.circle)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test(
        arguments: [
            (CompanionError.transport("x"), true), (.notSignedIn, true), (.decoding("x"), false),
            (.server(status: 500, code: "", message: "", retryAfter: nil), true),
            (.server(status: 429, code: "", message: "", retryAfter: nil), true),
            (.server(status: 408, code: "", message: "", retryAfter: nil), true),
            (.server(status: 400, code: "", message: "", retryAfter: nil), false),
            (.server(status: 499, code: "", message: "", retryAfter: nil), false),
        ]
    )
    func `knows what may succeed later`(error: CompanionError, isWorthRepeating: Bool) {
        #expect(error.isWorthRepeating == isWorthRepeating)
    }
}
