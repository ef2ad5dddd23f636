import Database
import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// Friendships (cases 30 to 34 and 72, decisions 24 to 26).
@Suite(.timeLimit(.minutes(5))) struct FriendTests {
    @Test func `a request is outgoing here and incoming there (case 30)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            #expect(try await anna.ask("ben") == "pending")
            #expect(try await anna.ask("ben") == "pending")
            let list = try await anna.get("/api/friends")
            #expect(
                list.body == "{\"riders\":[{\"rider\":{\"id\":\"\(ben.id)\",\"username\":\"ben\"},"
                    + "\"relation\":\"outgoing\"}]}"
            )
            #expect(try await ben.friends() == ["anna": "incoming"])
        }
    }

    @Test func `who asked can neither accept nor decline (case 31)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await anna.ask("ben")
            let path = "/api/friends/requests/\(ben.id)/respond"
            let accept = try await anna.post(path, "{\"accept\":true}")
            #expect(accept.status == 422)
            #expect(accept.code == "friendship.cannot_accept_own_request")
            let decline = try await anna.post(path, "{\"accept\":false}")
            #expect(decline.status == 422)
            #expect(decline.code == "friendship.cannot_decline_own_request")
            #expect(try await ben.friends() == ["anna": "incoming"])
        }
    }

    @Test func `asking back accepts (case 32)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await anna.ask("ben")
            #expect(try await ben.ask("anna") == "accepted")
            #expect(try await anna.ask("ben") == "accepted")
            #expect(try await anna.friends() == ["ben": "friend"])
            #expect(try await ben.friends() == ["anna": "friend"])
        }
    }

    @Test func `a hundred requests are open and one more is not (decision 0085)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let cleo = try await world.person("cleo")
            let asking = anna.id
            try await world.query { connection throws(DatabaseError) in
                try connection.execute(
                    """
                    WITH others AS (INSERT INTO groups.accounts (id, handle, seen_at)
                        SELECT gen_random_uuid(), 'other' || n, now()
                        FROM generate_series(1, $2::int) n RETURNING id)
                    INSERT INTO groups.friendships
                        (low_id, high_id, status, requested_by, created_at)
                        SELECT least(id, $1), greatest(id, $1), 'Pending', $1, now() FROM others
                    """,
                    [.uuid(asking), .int(Friendships.openRequests - 1)]
                )
            }
            #expect(try await anna.ask("ben") == "pending")
            #expect(try await anna.ask("ben") == "pending", "the same request, not one more")
            let refused = try await anna.post("/api/friends/requests", "{\"username\":\"cleo\"}")
            #expect(refused.status == 422)
            #expect(refused.code == "friendship.too_many_requests")
            #expect(try await cleo.ask("anna") == "pending", "others may still ask")
            #expect(try await anna.ask("cleo") == "accepted", "and be answered")
            #expect(try await anna.unfriend(ben).status == 204)
            #expect(try await anna.ask("ben") == "pending", "a withdrawal gives the place back")
        }
    }

    @Test func `declining takes the request from both lists (case 33)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await anna.ask("ben")
            let path = "/api/friends/requests/\(anna.id)/respond"
            #expect(
                try await ben.post(path, "{\"accept\":false}").body == "{\"status\":\"declined\"}"
            )
            #expect(try await anna.friends().isEmpty)
            #expect(try await ben.friends().isEmpty)
            #expect(try await world.count("SELECT count(*) FROM groups.friendships") == 0)
            // Declined is not refused for ever.
            #expect(try await anna.ask("ben") == "pending")
        }
    }

    @Test func `requests are answered by id and friends removed for good (case 34)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await anna.ask("ben")
            let path = "/api/friends/requests/\(anna.id)/respond"
            #expect(
                try await ben.post(path, "{\"accept\":true}").body == "{\"status\":\"accepted\"}"
            )
            let again = try await ben.post(path, "{\"accept\":true}")
            #expect(again.status == 422)
            #expect(again.code == "friendship.no_pending_request")
            for _ in 0..<2 {
                let answer = try await ben.unfriend(anna)
                #expect(answer.status == 204)
                #expect(answer.body.isEmpty)
            }
            #expect(try await anna.friends().isEmpty)
            #expect(try await ben.friends().isEmpty)
        }
    }

    @Test func `whoever asked may take the request back`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await anna.ask("ben")
            #expect(try await anna.unfriend(ben).status == 204)
            #expect(try await ben.friends().isEmpty)
        }
    }

    @Test func `handles are found in any case and are one person's (case 72)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("Anna.B-1_x")
            let ben = try await world.person("ben")
            #expect(try await ben.ask("  aNNA.b-1_X\\t") == "pending")
            #expect(try await ben.friends() == ["Anna.B-1_x": "outgoing"])
            // The latest token says how the handle is written.
            let renamed = world.stranger("ANNA.b-1_x", id: anna.id)
            _ = try await renamed.get("/api/friends")
            #expect(try await ben.friends() == ["ANNA.b-1_x": "outgoing"])
            #expect(try await world.count("SELECT count(*) FROM groups.accounts") == 2)
        }
    }

    @Test func `nobody is their own friend`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let answer = try await anna.post("/api/friends/requests", "{\"username\":\"Anna\"}")
            #expect(answer.status == 422)
            #expect(answer.code == "friendship.cannot_friend_yourself")
            #expect(try await anna.unfriend(anna).status == 204)
            let own = try await anna.post(
                "/api/friends/requests/\(anna.id)/respond",
                "{\"accept\":true}"
            )
            #expect(own.code == "friendship.no_pending_request")
        }
    }

    @Test func `people nobody knows`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let unknown = try await anna.post("/api/friends/requests", "{\"username\":\"nobody\"}")
            #expect(unknown.status == 404)
            #expect(unknown.code == "user.not_found_by_username")
            let nobody = UniqueID.random()
            #expect(try await anna.delete("/api/friends/\(nobody)").status == 204)
            let respond = "/api/friends/requests/\(nobody)/respond"
            #expect(
                try await anna.post(respond, "{\"accept\":true}").code
                    == "friendship.no_pending_request"
            )
            #expect(try await anna.delete("/api/friends/5").status == 404)
            #expect(
                try await anna.post("/api/friends/requests/x/respond", "{\"accept\":true}").status
                    == 404
            )
        }
    }

    @Test func `an erased person whom auth still names is as one who never was`() async throws {
        try await GroupsWorld.with { world in
            let (anna, cleo) = (try await world.person("anna"), try await world.person("cleo"))
            let circle = try await anna.create("circles")
            let nobody = try await anna.ask(anyone: "nobody")
            #expect(nobody.code == "user.not_found_by_username")
            world.directory.add(cleo)
            let erasure = EraseAccount(accountID: cleo.id, receivedAt: world.clock.now)
            #expect(await world.process.desk.erase(erasure))
            let asked = try await anna.ask(anyone: "cleo")
            let invited = try await anna.tryToInvite("cleo", to: circle)
            for answer in [asked, invited] {
                #expect(answer.status == 404)
                #expect(answer.body == nobody.body)
            }
            #expect(world.directory.asked == ["nobody", "cleo", "cleo"])
            try await ErasureTests.expectNoTrace(of: cleo, in: world)
        }
    }

    @Test func `lists are ordered by handle, and three relations are told apart`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            for handle in ["Zoe", "ben", "Cleo"] { _ = try await world.person(handle) }
            try await world.befriend(anna, try await world.person("dora"))
            try await anna.ask("zoe")
            let ben = try await world.person("emil")
            try await ben.ask("anna")
            let riders = try await anna.get("/api/friends").json["riders"].array
            #expect(riders.map { $0["rider"]["username"].string } == ["dora", "emil", "Zoe"])
            #expect(riders.map { $0["relation"].string } == ["friend", "incoming", "outgoing"])
        }
    }
}
