import Database
import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// Leaving, emptiness and hand-over (case 14, decisions 11, 12, 20, 29).
@Suite(.timeLimit(.minutes(5))) struct LeavingTests {
    @Test func `the last one out drops a convoy and leaves a circle (case 14)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let convoy = try await anna.create("convoys")
            for group in [circle, convoy] {
                #expect(try await anna.leave(group).status == 204)
                #expect(try await anna.leave(group).code == "group.not_found")
            }
            let left = try await world.query { connection throws(DatabaseError) in
                try connection.query("SELECT id, owner_id FROM groups.groups").one()
            }
            #expect("\(try left.uuid("id"))" == circle)
            #expect(try left.isNull("owner_id"))
            #expect(world.relays.changes.filter(\.isGone).map { "\($0.groupID)" } == [convoy])
        }
    }

    @Test func `a convoy goes with its last accepted member, invitations and all (decision 12)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let convoy = try await anna.create("convoys")
            try await anna.invite(ben, to: convoy)
            #expect(try await anna.leave(convoy).status == 204)
            #expect(try await world.count("SELECT count(*) FROM groups.groups") == 0)
            #expect(try await ben.respond(convoy, accept: true).status == 404)
        }
    }

    @Test func `an invitation to an emptied circle opens it again`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let circle = try await anna.create("circles")
            try await anna.invite(ben, to: circle)
            #expect(try await anna.leave(circle).status == 204)
            try await ben.accept(circle)
            #expect(try await ben.group(circle)?["ownerId"].string == "\(ben.id)")
        }
    }

    /// How the last one of whom there is a row goes.
    enum LastExit: CaseIterable, Sendable { case leave, decline, leaveInvitation, unfriend }

    @Test(arguments: LastExit.allCases)
    func `a circle that nobody can enter again goes with its name and events`(
        exit: LastExit
    ) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let circle = try await anna.create("circles")
            let place = try await anna.putPlace(circle)
            try await anna.share(circle)
            #expect(try await anna.postEvent(circle, place).status == 200)
            try await anna.invite(ben, to: circle)
            if exit == .leave { try await ben.accept(circle) }
            #expect(try await anna.leave(circle).status == 204)
            func groups() async throws -> Int {
                try await world.process.housekeeping.tidy()
                return try await world.count(
                    """
                    SELECT (SELECT count(*) FROM groups.groups)
                        + (SELECT count(*) FROM groups.events)
                    """
                )
            }
            // Someone may still come in.
            #expect(try await groups() == 2)
            switch exit {
            case .leave, .leaveInvitation: #expect(try await ben.leave(circle).status == 204)
            case .decline: #expect(try await ben.respond(circle, accept: false).status == 200)
            case .unfriend: #expect(try await ben.unfriend(anna).status == 204)
            }
            #expect(try await world.count("SELECT count(*) FROM groups.groups") == 1)
            #expect(try await groups() == 0)
        }
    }

    @Test func `who leaves an invitation needs no answer and tells no relay (decision 20)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let circle = try await anna.create("circles")
            try await anna.invite(ben, to: circle)
            world.relays.clear()
            #expect(try await ben.leave(circle).status == 204)
            #expect(try await ben.leave(circle).status == 404)
            #expect(world.relays.withdrawals.isEmpty)
            #expect(world.relays.changes.isEmpty)
            #expect(try await anna.invite(ben, to: circle) == "invited")
        }
    }

    @Test(arguments: ["circles", "convoys"])
    func `an owner's group goes to whoever has been in it longest (decision 29)`(
        kind: String
    ) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            // Ben is invited first, Cleo accepts first.
            let group = try await anna.create(kind)
            for friend in [ben, cleo] {
                try await world.befriend(anna, friend)
                try await anna.invite(friend, to: group)
            }
            try await cleo.accept(group)
            try await ben.accept(group)
            #expect(try await anna.leave(group).status == 204)
            #expect(try await ben.group(group, in: kind)?["ownerId"].string == "\(cleo.id)")
            // One who owns nothing changes nothing by leaving.
            #expect(try await ben.leave(group).status == 204)
            #expect(try await cleo.group(group, in: kind)?["ownerId"].string == "\(cleo.id)")
        }
    }

    @Test func `leaving takes places and the fix along, and events stay (case 21)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await ben.putPlace(circle)
            #expect(try await ben.postFix(circle).status == 204)
            #expect(try await ben.postEvent(circle, place).status == 200)
            #expect(try await anna.fixes(circle).keys.contains("\(ben.id)"))
            #expect(try await ben.leave(circle).status == 204)
            #expect(try await anna.fixes(circle).isEmpty)
            let places = try await anna.get("/api/circles/\(circle)/places")
            #expect(places.body == "{\"places\":[]}")
            let events = try await anna.get("/api/circles/\(circle)/events").json["events"]
            #expect(events.array.count == 1)
            #expect(events[0]["placeName"].string == "")
            for table in ["fixes", "places"] {
                #expect(try await world.count("SELECT count(*) FROM groups.\(table)") == 0)
            }
        }
    }

    @Test func `every live relay has let go before the caller hears of it`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.group("circles", anna, ben)
            world.relays.clear()
            world.relays.setNames(["relay-1", "relay-2"])
            #expect(try await ben.leave(circle).status == 204)
            #expect(world.relays.asked.count == 2)
            let version = try await world.count("SELECT version FROM groups.groups")
            let expected = Withdrawal(
                groupID: try #require(UniqueID(circle)),
                accountID: ben.id,
                version: UInt64(version),
                reason: .left
            )
            #expect(world.relays.withdrawals == [expected, expected])
            #expect(world.relays.changes.map(\.version) == [UInt64(version)])
        }
    }
}
