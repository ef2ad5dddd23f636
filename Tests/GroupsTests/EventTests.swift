import Database
import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// Arrivals and departures (cases 24 to 26, decisions 9, 19 and 25).
@Suite(.timeLimit(.minutes(5))) struct EventTests {
    @Test func `the answer names the place and the caller's id (case 24)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await anna.putPlace(circle, name: "Home")
            let answer = try await ben.postEvent(
                circle,
                place,
                "ARRIVE",
                more: ",\"timestampMs\":5"
            )
            #expect(answer.status == 200)
            let id = try #require(answer.text("id"))
            #expect(
                answer.body == "{\"id\":\"\(id)\",\"seq\":1,\"placeId\":\"\(place)\","
                    + "\"placeName\":\"Home\",\"riderId\":\"\(ben.id)\",\"kind\":\"arrive\","
                    + "\"timestampMs\":5}"
            )
            let feed = try await anna.get("/api/circles/\(circle)/events")
            #expect(feed.body == "{\"events\":[\(answer.body)]}")
            let notice = try #require(world.relays.events.first)
            #expect(notice.accountID == ben.id)
            #expect(notice.placeName == "Home")
            #expect(notice.kind == "arrive")
            #expect("\(notice.placeID)" == place)
            #expect([notice.timestampMilliseconds, Int64(notice.sequence)] == [5, 1])
        }
    }

    @Test func `since leaves out its own instant and has one's own events (case 25)`() async throws
    {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let place = try await anna.putPlace(circle)
            for instant in [1000, 1001, 999, 5000] {
                _ = try await anna.postEvent(circle, place, more: ",\"timestampMs\":\(instant)")
            }
            func instants(_ query: String) async throws -> [Int?] {
                try await anna.get("/api/circles/\(circle)/events\(query)").json["events"].array
                    .map { $0["timestampMs"].int }
            }
            #expect(try await instants("?since=1000") == [1001, 5000])
            // In the order of arrival, whatever the phones' clocks say.
            #expect(try await instants("") == [1000, 1001, 999, 5000])
            #expect(try await instants("?since=-5") == [1000, 1001, 999, 5000])
            #expect(try await instants("?after=2") == [999, 5000])
            #expect(try await instants("?after=2&since=999") == [5000])
            #expect(try await instants("?after=4").isEmpty)
            for query in ["?since=x", "?after=1.5", "?since=", "?after=9223372036854775808"] {
                let answer = try await anna.get("/api/circles/\(circle)/events\(query)")
                #expect(answer.status == 400)
                #expect(answer.code == "query.invalid")
            }
        }
    }

    @Test(arguments: [
        ("\"kind\":\"wave\"", "place_event.kind_invalid"),
        ("\"kind\":\"\"", "place_event.kind_invalid"),
        ("\"kind\":null", "place_event.kind_invalid"), ("\"kind\":1", "json.invalid_type"),
        ("\"kind\":\"arrive\",\"clientEventId\":\"x\"", "place_event.client_event_id_invalid"),
        ("\"kind\":\"arrive\",\"clientEventId\":5", "json.invalid_type"),
        ("\"kind\":\"arrive\",\"timestampMs\":\"5\"", "json.invalid_type"),
    ])
    func `what is no event is refused (case 26)`(members: String, code: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let place = try await anna.putPlace(circle)
            let answer = try await anna.post(
                "/api/circles/\(circle)/events",
                "{\"placeId\":\"\(place)\",\(members)}"
            )
            #expect(answer.status == 400)
            #expect(answer.code == code)
            #expect(try await world.count("SELECT count(*) FROM groups.events") == 0)
        }
    }

    @Test(arguments: ["0", "null", "\"\"", "\"0\"", "\"5\""])
    func `a place id must be one`(id: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let answer = try await anna.post(
                "/api/circles/\(circle)/events",
                "{\"placeId\":\(id),\"kind\":\"arrive\"}"
            )
            #expect(answer.status == 400)
        }
    }

    @Test func `a place that is not in the circle is not found (decision 19)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let other = try await world.sharingCircle(anna)
            let elsewhere = try await anna.putPlace(other)
            for place in [elsewhere, "\(UniqueID.random())"] {
                let answer = try await anna.postEvent(circle, place)
                #expect(answer.status == 404)
                #expect(
                    answer.body == "{\"error\":\"place not found\",\"code\":\"place.not_found\"}"
                )
            }
            #expect(try await world.count("SELECT sum(event_seq)::bigint FROM groups.groups") == 0)
        }
    }

    @Test func `a repeat gets the first answer and makes nothing (decision 9)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await anna.putPlace(circle)
            let key = ",\"clientEventId\":\"\(UniqueID.random())\""
            let first = try await anna.postEvent(circle, place, more: key + ",\"timestampMs\":1")
            let again = try await anna.postEvent(circle, place, "depart", more: key)
            #expect(again.status == 200)
            #expect(again.body == first.body)
            #expect(world.relays.events.count == 1)
            // The id is the member's own: another's event is another event.
            #expect(try await ben.postEvent(circle, place, more: key).json["seq"].int == 2)
            // Without one a repeat is a second event.
            for _ in 0..<2 { _ = try await anna.postEvent(circle, place) }
            #expect(try await world.count("SELECT count(*) FROM groups.events") == 4)
        }
    }

    /// What happened since an event was reported for the first time.
    enum Since: CaseIterable, Sendable {
        case placeGone, placeRenamed, paused, crowdedOut, cameBack
    }

    @Test(arguments: Since.allCases)
    func `a repeat gets the first answer, whatever happened since (decision 9)`(
        since: Since
    ) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await anna.putPlace(circle, name: "Home")
            let key = ",\"clientEventId\":\"\(UniqueID.random())\""
            let first = try await ben.postEvent(circle, place, more: key)
            #expect(first.text("placeName") == "Home")
            switch since {
            case .placeGone:
                #expect(try await anna.delete("/api/circle-places/\(place)").status == 204)
            case .placeRenamed: _ = try await anna.putPlace(circle, name: "Work")
            case .paused: try await ben.share(circle, false)
            case .crowdedOut:
                // As after five hundred of another member.
                try await world.query { connection throws(DatabaseError) in
                    try connection.script(
                        """
                        UPDATE groups.groups SET event_seq = event_seq + 500;
                        """
                    )
                }
                _ = try await anna.postEvent(circle, place)
                #expect(try await world.count("SELECT count(*) FROM groups.events") == 1)
            case .cameBack:
                #expect(try await ben.leave(circle).status == 204)
                try await anna.invite(ben, to: circle)
                try await ben.accept(circle)
                try await ben.share(circle)
            }
            world.relays.clear()
            let events = try await world.count("SELECT count(*) FROM groups.events")
            let again = try await ben.postEvent(circle, place, "depart", more: key)
            #expect(again.status == 200)
            #expect(again.body == first.body)
            #expect(world.relays.events.isEmpty)
            #expect(try await world.count("SELECT count(*) FROM groups.events") == events)
        }
    }

    @Test func `what a pause threw away is new when it comes again`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let place = try await anna.putPlace(circle)
            let key = ",\"clientEventId\":\"\(UniqueID.random())\""
            try await anna.share(circle, false)
            #expect(try await anna.postEvent(circle, place, more: key).status == 204)
            try await anna.share(circle)
            #expect(try await anna.postEvent(circle, place, more: key).status == 200)
        }
    }

    @Test(arguments: [(-1, 200), (0, 200), (1, 204)])
    func `what was reported before its member shared is thrown away, though its call ends after`(
        after: Int64,
        status: Int
    ) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let place = try await anna.putPlace(circle)
            let since = world.clock.now * 1000 + after
            try await world.query { connection throws(DatabaseError) in
                try connection.script("UPDATE groups.members SET sharing_since_ms = \(since)")
            }
            #expect(try await anna.postEvent(circle, place).status == status)
            #expect(world.relays.events.count == (status == 200 ? 1 : 0))
        }
    }

    @Test func `of each member the newest five hundred answers stay`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await anna.putPlace(circle)
            let keys = (0..<3).map { _ in ",\"clientEventId\":\"\(UniqueID.random())\"" }
            let bens = try await ben.postEvent(circle, place, more: keys[0])
            let first = try await anna.postEvent(circle, place, more: keys[1])
            _ = try await anna.postEvent(circle, place, more: keys[2])
            try await world.query { connection throws(DatabaseError) in
                try connection.script(
                    """
                    INSERT INTO groups.event_answers
                    SELECT g.id, g.owner_id, gen_random_uuid(), n, gen_random_uuid(),
                        gen_random_uuid(), '', 'Arrive', 1
                    FROM groups.groups g, generate_series(4, 501) n;
                    UPDATE groups.groups SET event_seq = 501;
                    """
                )
            }
            #expect(try await anna.postEvent(circle, place, more: keys[1]).body == first.body)
            let new = ",\"clientEventId\":\"\(UniqueID.random())\""
            _ = try await anna.postEvent(circle, place, more: new)
            #expect(try await anna.postEvent(circle, place, more: keys[1]).body != first.body)
            #expect(try await ben.postEvent(circle, place, more: keys[0]).body == bens.body)
        }
    }

    @Test func `the newest five hundred stay, by number (decision 25)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let place = try await anna.putPlace(circle)
            try await world.query { connection throws(DatabaseError) in
                try connection.script(
                    """
                    INSERT INTO groups.events (group_id, seq, id, account_id, place_id, kind,
                        timestamp_ms)
                    SELECT g.id, n, gen_random_uuid(), g.owner_id, gen_random_uuid(), 'Arrive',
                        100000 - n FROM groups.groups g, generate_series(1, 499) n;
                    UPDATE groups.groups SET event_seq = 499;
                    """
                )
            }
            // A phone whose clock is far behind loses nothing and pins nothing.
            _ = try await anna.postEvent(circle, place, more: ",\"timestampMs\":1")
            func numbers() async throws -> [Int?] {
                try await anna.get("/api/circles/\(circle)/events").json["events"].array
                    .map { $0["seq"].int }
            }
            #expect(try await numbers() == Array(1...500))
            _ = try await anna.postEvent(circle, place, more: ",\"timestampMs\":1")
            #expect(try await numbers() == Array(2...501))
        }
    }

    @Test func `a place's present name stands in the feed, and none when it is gone`() async throws
    {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let place = try await anna.putPlace(circle, name: "old")
            _ = try await anna.postEvent(circle, place)
            _ = try await anna.putPlace(circle, name: "new")
            let path = "/api/circles/\(circle)/events"
            #expect(try await anna.get(path).json["events"][0]["placeName"].string == "new")
            _ = try await anna.delete("/api/circle-places/\(place)")
            #expect(try await anna.get(path).json["events"][0]["placeName"].string == "")
        }
    }
}
