import Database
import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// The switch of one member in one group (cases 15, 17, 20, decisions 1 and 4).
@Suite(.timeLimit(.minutes(5))) struct SharingTests {
    @Test func `pausing deletes the fix, and resuming does not bring it back (case 15)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            #expect(try await ben.postFix(circle).status == 204)
            #expect(try await anna.fixes(circle).count == 1)
            let answer = try await ben.put("/api/circles/\(circle)/sharing", "{\"sharing\":false}")
            #expect(answer.body == "{\"sharing\":false}")
            #expect(try await anna.fixes(circle).isEmpty)
            #expect(try await world.count("SELECT count(*) FROM groups.fixes") == 0)
            try await ben.share(circle)
            #expect(try await anna.fixes(circle).isEmpty)
            #expect(try await ben.group(circle)?["status"].string == "accepted")
        }
    }

    @Test func `a paused member's positions are thrown away with 204 (case 17)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            // Off from the start, then on, then off.
            for round in 0..<2 {
                if round == 1 {
                    try await anna.share(circle)
                    try await anna.share(circle, false)
                }
                #expect(try await anna.postFix(circle).status == 204)
                #expect(
                    try await anna.post("/api/me/fix", "{\"latitude\":1,\"longitude\":2}").status
                        == 204
                )
                #expect(try await world.count("SELECT count(*) FROM groups.fixes") == 0)
            }
        }
    }

    @Test func `a paused member's arrivals are thrown away with 204 (decision 4)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let place = try await anna.putPlace(circle)
            let answer = try await anna.postEvent(circle, place)
            #expect(answer.status == 204)
            #expect(answer.body.isEmpty)
            #expect(try await world.count("SELECT count(*) FROM groups.events") == 0)
            #expect(world.relays.events.isEmpty)
        }
    }

    @Test func `sharing is a circle's alone, whoever asks (case 20)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let convoy = try await anna.create("convoys")
            let circle = try await anna.create("circles")
            try await world.befriend(anna, ben)
            try await anna.invite(ben, to: circle)
            for (person, group) in [
                (anna, convoy), (anna, "\(UniqueID.random())"), (cleo, circle), (ben, circle),
                (anna, "x"),
            ] {
                let answer = try await person.put(
                    "/api/circles/\(group)/sharing",
                    "{\"sharing\":true}"
                )
                #expect(answer.status == 404)
                #expect(
                    answer.body == "{\"error\":\"group not found\",\"code\":\"group.not_found\"}"
                )
            }
        }
    }

    @Test func `the switch says the same twice and raises the version once`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            world.relays.clear()
            for sharing in [true, true, false, false] {
                try await anna.share(circle, sharing)
                #expect(try await anna.group(circle)?["members"][0]["sharing"].bool == sharing)
            }
            #expect(try await world.count("SELECT version FROM groups.groups") == 3)
            // A pause that is said again is taken away again: the first may have been lost.
            #expect(world.relays.withdrawals.map(\.version) == [3, 3])
            #expect(world.relays.withdrawals.map(\.reason) == [.paused, .paused])
            #expect(world.relays.changes.map(\.version) == [2, 3, 3])
        }
    }

    @Test func `one member's pause is nobody else's, and pauses one group alone`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let first = try await world.sharingCircle(anna, ben)
            let second = try await world.sharingCircle(anna, ben)
            for person in [anna, ben] {
                #expect(
                    try await person.post("/api/me/fix", "{\"latitude\":1,\"longitude\":2}").status
                        == 204
                )
            }
            try await ben.share(first, false)
            #expect(try await anna.fixes(first).keys.sorted() == ["\(anna.id)"])
            #expect(try await anna.fixes(second).count == 2)
            // Who paused still sees the others.
            #expect(try await ben.fixes(first).keys.sorted() == ["\(anna.id)"])
        }
    }
}
