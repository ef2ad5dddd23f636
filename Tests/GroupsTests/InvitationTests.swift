import Database
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// Inviting and answering (cases 6, 7, 11 to 13, decisions 3, 20, 26 and 31).
@Suite(.timeLimit(.minutes(5))) struct InvitationTests {
    @Test func `inviting twice leaves one row (case 6)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let circle = try await anna.create("circles")
            #expect(try await anna.invite(ben, to: circle) == "invited")
            #expect(try await anna.invite(ben, to: circle) == "invited")
            #expect(try await world.count("SELECT count(*) FROM groups.members") == 2)
            try await ben.accept(circle)
            #expect(try await anna.invite(ben, to: circle) == "accepted")
            #expect(try await world.count("SELECT count(*) FROM groups.members") == 2)
        }
    }

    @Test func `fourteen open invitations fill a circle, and a convoy takes thirty (case 7)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let convoy = try await anna.create("convoys")
            for number in 1...30 {
                let friend = try await world.person("friend\(number)")
                try await world.befriend(anna, friend)
                #expect(try await anna.invite(friend, to: convoy) == "invited")
                let answer = try await anna.tryToInvite(friend.handle, to: circle)
                if number <= 14 {
                    #expect(answer.text("status") == "invited")
                } else {
                    #expect(answer.status == 422)
                    #expect(answer.code == "group.circle_full")
                }
                // Who is in already is not turned away by a full circle.
                if number == 15 {
                    let again = try await anna.tryToInvite("friend1", to: circle)
                    #expect(again.text("status") == "invited")
                }
            }
            #expect(try await anna.group(circle)?["members"].array.count == 15)
            #expect(try await anna.group(convoy, in: "convoys")?["members"].array.count == 31)
        }
    }

    @Test func `a declined invitation gives its place back`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            var friends: [Person] = []
            for number in 1...15 {
                let friend = try await world.person("friend\(number)")
                try await world.befriend(anna, friend)
                friends.append(friend)
                _ = try await anna.tryToInvite(friend.handle, to: circle)
            }
            #expect(
                try await friends[0].respond(circle, accept: false).text("status") == "declined"
            )
            #expect(try await anna.invite(friends[14], to: circle) == "invited")
            #expect(
                try await anna.tryToInvite(friends[0].handle, to: circle).code
                    == "group.circle_full"
            )
            // The fifteenth accepts: the cap counts rows, so accepting adds none.
            try await friends[14].accept(circle)
        }
    }

    @Test func `only friends can be invited (case 11)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await anna.create("circles")
            let before = try await anna.tryToInvite("ben", to: circle)
            #expect(before.status == 422)
            #expect(before.code == "group.invitee_not_a_friend")
            try await anna.ask("ben")
            #expect(
                try await anna.tryToInvite("ben", to: circle).code
                    == "group.invitee_not_a_friend"
            )
            try await ben.ask("anna")
            #expect(try await anna.invite(ben, to: circle) == "invited")
        }
    }

    @Test func `a friend of the inviter is enough, members need not be friends (decision 31)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try await world.group("circles", anna, ben)
            try await world.befriend(ben, cleo)
            #expect(try await ben.invite(cleo, to: circle) == "invited")
            try await cleo.accept(circle)
            #expect(try await cleo.group(circle)?["members"].array.count == 3)
        }
    }

    @Test func `a stranger inviting hears the same for a real and an invented group (case 12)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await anna.create("circles")
            let invited = try await world.person("cleo")
            try await world.befriend(anna, invited)
            try await anna.invite(invited, to: circle)
            for handle in ["anna", "ben", "nobody"] {
                let real = try await ben.tryToInvite(handle, to: circle)
                let invented = try await ben.tryToInvite(handle, to: "\(UniqueID.random())")
                // Who is invited alone may not invite either.
                let early = try await invited.tryToInvite(handle, to: circle)
                #expect(real.status == 404)
                #expect(real.body == "{\"error\":\"group not found\",\"code\":\"group.not_found\"}")
                #expect(invented.body == real.body)
                #expect(early.body == real.body)
            }
        }
    }

    @Test func `an invitation shows as invited, then as accepted (case 13)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let circle = try await anna.create("circles")
            try await anna.invite(ben, to: circle)
            #expect(try await anna.group(circle)?["members"][1]["status"].string == "invited")
            #expect(try await ben.group(circle)?["status"].string == "invited")
            try await ben.accept(circle)
            let members = try #require(try await anna.group(circle)?["members"])
            #expect(members.array.map { $0["status"].string } == ["accepted", "accepted"])
            #expect(members.array.map { $0["sharing"].bool } == [false, false])
        }
    }

    @Test func `self, unknown handles and handles that are none are told apart`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let own = try await anna.tryToInvite(" ANNA ", to: circle)
            #expect(own.status == 422)
            #expect(own.code == "group.already_a_member")
            let unknown = try await anna.tryToInvite("nobody", to: circle)
            #expect(unknown.status == 404)
            #expect(unknown.code == "user.not_found_by_username")
            for handle in ["", "ab", "a b c", "änne", String(repeating: "a", count: 25)] {
                let answer = try await anna.tryToInvite(handle, to: circle)
                #expect(answer.status == 400)
                #expect(answer.code == "user.username_invalid")
            }
        }
    }

    @Test func `a handle never seen is looked up at auth, once`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let ben = try await world.person("Ben-2", known: false)
            world.directory.add(ben)
            #expect(try await anna.ask("ben-2") == "pending")
            #expect(try await anna.ask("BEN-2") == "pending")
            #expect(world.directory.asked == ["ben-2"])
            #expect(try await anna.friends() == ["Ben-2": "outgoing"])
            world.directory.setAway(true)
            let away = try await anna.post("/api/friends/requests", "{\"username\":\"cleo\"}")
            #expect(away.status == 503)
            #expect(away.code == "accounts.unavailable")
            #expect(away.headers.first("Retry-After") == "2")
        }
    }

    @Test func `answering without an invitation (decision 20)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.group("circles", anna, ben)
            let stranger = try await world.person("cleo")
            for accept in [true, false] {
                #expect(try await ben.respond(circle, accept: accept).status == 422)
                let again = try await ben.respond(circle, accept: accept)
                #expect(again.code == "group.no_pending_invite")
                for group in [circle, "\(UniqueID.random())"] {
                    let answer = try await stranger.respond(group, accept: accept)
                    #expect(answer.status == 404)
                    #expect(answer.code == "group.not_found")
                }
            }
        }
    }

    @Test func `accepting looks at the friendship again (decision 3)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let circle = try await anna.create("circles")
            try await anna.invite(ben, to: circle)
            // The friendship goes without its severance, as if that had been lost.
            try await world.query { connection throws(DatabaseError) in
                try connection.script("DELETE FROM groups.friendships")
            }
            let answer = try await ben.respond(circle, accept: true)
            #expect(answer.status == 422)
            #expect(answer.code == "group.invitee_not_a_friend")
        }
    }

    @Test func `accepting looks at the limit again (decision 3)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let circle = try await anna.create("circles")
            try await anna.invite(ben, to: circle)
            // A sixteenth row, as if the limit had been higher once.
            try await world.query { connection throws(DatabaseError) in
                try connection.script(
                    """
                    INSERT INTO groups.accounts SELECT gen_random_uuid(), 'extra' || n, now()
                        FROM generate_series(1, 14) n;
                    INSERT INTO groups.members SELECT g.id, a.id, 'Accepted', NULL, false, now(),
                        nextval('groups.turn') FROM groups.groups g, groups.accounts a
                        WHERE a.handle LIKE 'extra%';
                    """
                )
            }
            let answer = try await ben.respond(circle, accept: true)
            #expect(answer.status == 422)
            #expect(answer.code == "group.circle_full")
        }
    }
}
