import Database
import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// What the end of a friendship takes from groups (decision 2).
@Suite(.timeLimit(.minutes(5))) struct SeveranceTests {
    @Test(arguments: ["circles", "convoys"], [true, false])
    func `in a group that one owns, the other goes`(kind: String, byOwner: Bool) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let group = try await world.group(kind, anna, ben)
            world.relays.clear()
            let ended = byOwner ? try await anna.unfriend(ben) : try await ben.unfriend(anna)
            #expect(ended.status == 204)
            #expect(try await anna.group(group, in: kind)?["members"].array.count == 1)
            #expect(try await ben.group(group, in: kind) == nil)
            #expect(world.relays.withdrawals.map(\.accountID) == [ben.id])
            #expect(world.relays.withdrawals.map(\.reason) == [byOwner ? .removed : .left])
        }
    }

    @Test func `in any other group the one who ends it leaves`() async throws {
        try await GroupsWorld.with { world in
            let (owner, anna, ben) = (
                try await world.person("owner"), try await world.person("anna"),
                try await world.person("ben")
            )
            let circle = try await world.sharingCircle(owner, anna, ben)
            let convoy = try await world.group("convoys", owner)
            for friend in [anna, ben] {
                try await owner.invite(friend, to: convoy)
                try await friend.accept(convoy)
            }
            try await world.befriend(anna, ben)
            _ = try await anna.putPlace(circle)
            #expect(try await anna.postFix(circle).status == 204)
            world.relays.clear()
            #expect(try await anna.unfriend(ben).status == 204)
            #expect(try await anna.groups("circles").isEmpty)
            #expect(try await anna.groups("convoys").isEmpty)
            #expect(try await ben.group(circle)?["members"].array.count == 2)
            #expect(try await ben.fixes(circle).isEmpty)
            #expect(try await world.count("SELECT count(*) FROM groups.places") == 0)
            #expect(world.relays.withdrawals.map(\.accountID) == [anna.id, anna.id])
            // All of it is one request to the relay.
            #expect(world.relays.asked.count == 1)
        }
    }

    @Test func `open invitations between the two are withdrawn`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            try await world.befriend(anna, ben)
            try await world.befriend(cleo, ben)
            let annas = try await anna.create("circles", "annas")
            let bens = try await ben.create("convoys", "bens")
            let cleos = try await cleo.create("circles", "cleos")
            try await anna.invite(ben, to: annas)
            try await ben.invite(anna, to: bens)
            try await cleo.invite(ben, to: cleos)
            #expect(try await ben.unfriend(anna).status == 204)
            #expect(try await ben.groups("circles").map { $0["name"].string } == ["cleos"])
            #expect(try await anna.groups("convoys").isEmpty)
            #expect(try await ben.respond(annas, accept: true).status == 404)
        }
    }

    @Test func `an invitation whose inviter has left is withdrawn, too`() async throws {
        try await GroupsWorld.with { world in
            let (owner, anna, ben) = (
                try await world.person("owner"), try await world.person("anna"),
                try await world.person("ben")
            )
            let circle = try await world.group("circles", owner, anna)
            try await world.befriend(anna, ben)
            try await anna.invite(ben, to: circle)
            #expect(try await anna.leave(circle).status == 204)
            #expect(try await anna.unfriend(ben).status == 204)
            #expect(try await ben.groups("circles").isEmpty)
        }
    }

    @Test func `invitations of others stay, and so do groups of only one`() async throws {
        try await GroupsWorld.with { world in
            let (owner, anna, ben) = (
                try await world.person("owner"), try await world.person("anna"),
                try await world.person("ben")
            )
            let circle = try await world.group("circles", owner, anna)
            try await world.befriend(owner, ben)
            try await world.befriend(anna, ben)
            try await owner.invite(ben, to: circle)
            let own = try await anna.create("circles", "own")
            #expect(try await anna.unfriend(ben).status == 204)
            #expect(try await ben.group(circle)?["status"].string == "invited")
            #expect(try await anna.groups("circles").count == 2)
            #expect(try await anna.group(own) != nil)
        }
    }

    @Test func `taking a request back severs nothing`() async throws {
        try await GroupsWorld.with { world in
            let (owner, anna, ben) = (
                try await world.person("owner"), try await world.person("anna"),
                try await world.person("ben")
            )
            let circle = try await world.group("circles", owner, anna, ben)
            try await anna.ask("ben")
            #expect(try await ben.unfriend(anna).status == 204)
            #expect(try await anna.unfriend(ben).status == 204)
            #expect(try await owner.group(circle)?["members"].array.count == 3)
        }
    }
}
