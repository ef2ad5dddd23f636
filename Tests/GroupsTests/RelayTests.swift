import Messages
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// What relays ask and are told, over a real bus (issue: for the relay; architecture section 6).
@Suite(.timeLimit(.minutes(5))) struct RelayTests {
    @Test func `a view has the accepted members, who of them shares and their last fix`()
        async throws
    {
        try await SmallFleet.with(relays: "relay-1") { fleet in
            let world = fleet.world
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try await world.sharingCircle(anna, ben)
            try await world.befriend(anna, cleo)
            try await anna.invite(cleo, to: circle)
            _ = try await ben.postFix(circle, latitude: 5)
            try await anna.share(circle, false)
            let convoy = try await world.group("convoys", ben)
            try await fleet.relays[0].fetch([ben.id])
            let views = fleet.relays[0].views
            #expect(Set(views.keys.map(\.description)) == [circle, convoy])
            let view = try #require(UniqueID(circle).flatMap { views[$0] })
            let version = try await world.count(
                "SELECT version FROM groups.groups WHERE kind = 'Circle'"
            )
            #expect(view.version == UInt64(version))
            #expect([view.allowsVotes, view.sharesWhileConnected] == [false, false])
            let members = Dictionary(uniqueKeysWithValues: view.members.map { ($0.accountID, $0) })
            #expect(Set(members.keys) == [anna.id, ben.id])
            #expect(members[anna.id]?.isSharing == false)
            #expect(members[ben.id]?.isSharing == true)
            #expect(members[ben.id]?.sharingSinceMilliseconds == world.clock.now * 1000)
            #expect(members[ben.id]?.lastFix?.latitude == 5)
            let ride = try #require(UniqueID(convoy).flatMap { views[$0] })
            #expect([ride.allowsVotes, ride.sharesWhileConnected] == [true, true])
            #expect(ride.members.map(\.isSharing) == [true])
        }
    }

    @Test func `who leaves is gone from every relay before the answer`() async throws {
        try await SmallFleet.with(relays: "relay-1", "relay-2") { fleet in
            let world = fleet.world
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try #require(UniqueID(try await world.sharingCircle(anna, ben)))
            for relay in fleet.relays { try await relay.fetch([anna.id]) }
            #expect(try await ben.leave("\(circle)").status == 204)
            for relay in fleet.relays {
                #expect(relay.views[circle]?.members.map(\.accountID) == [anna.id])
                #expect(relay.withdrawals.map(\.reason) == [.left])
            }
        }
    }

    @Test func `a silent relay costs a second and is counted`() async throws {
        try await SmallFleet.with(relays: "relay-1", "relay-2") { fleet in
            let world = fleet.world
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            fleet.relays[1].setSilent(true)
            let start = ContinuousClock.now
            try await ben.share(circle, false)
            let took = ContinuousClock.now - start
            #expect(took >= .milliseconds(900))
            #expect(took < .seconds(5))
            #expect(fleet.relays[0].withdrawals.map(\.reason) == [.paused])
            let counted = world.process.metrics.rendered()
            #expect(counted.contains("relay_withdrawals_unanswered_total 1"))
            #expect(counted.contains("relay_withdrawals_answered_total 1"))
        }
    }

    @Test func `what was committed and never told is found by the sweep`() async throws {
        try await SmallFleet.with(relays: "relay-1") { fleet in
            let world = fleet.world
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try #require(UniqueID(try await world.sharingCircle(anna, ben)))
            let convoy = try #require(UniqueID(try await world.group("convoys", ben, cleo)))
            let relay = fleet.relays[0]
            try await relay.fetch([anna.id, ben.id])
            #expect(try await relay.sweep([anna.id, ben.id]).isEmpty)
            // A process that dies between commit and publication has only the first.
            try await world.database.open(connections: 1).refusable { connection in
                let group = try Locks.groups([circle], on: connection)[0]
                _ = try Departure.remove(ben.id, from: group, because: .left, on: connection)
            }
            #expect(try await relay.sweep([anna.id, ben.id]) == [circle])
            try await relay.fetch([anna.id, ben.id])
            #expect(relay.views[circle]?.members.map(\.accountID) == [anna.id])
            // A group that came, and one that went.
            let new = try #require(UniqueID(try await anna.create("circles", "new")))
            for person in [ben, cleo] { _ = try await person.leave("\(convoy)") }
            #expect(try await relay.sweep([anna.id, ben.id]) == [new, convoy])
            // Without accounts it is every group.
            guard case .versions(let all) = try await relay.ask(.sweep(accountIDs: [])) else {
                Issue.record("no versions")
                return
            }
            #expect(Set(all.map(\.groupID)) == [circle, new])
        }
    }

    @Test func `a sweep has the accepted memberships of the riders asked for alone (case 71)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let shared = try await world.group("circles", anna, ben)
            try await world.befriend(anna, cleo)
            try await anna.invite(cleo, to: shared)
            let own = try await cleo.create("convoys")
            func swept(_ people: Person...) async -> [String: UInt64] {
                let request = GroupsRequest(body: .sweep(accountIDs: people.map(\.id)))
                guard case .versions(let found) = await world.process.desk.answer(request) else {
                    Issue.record("no versions")
                    return [:]
                }
                return Dictionary(uniqueKeysWithValues: found.map { ("\($0.groupID)", $0.version) })
            }
            #expect(await swept(ben) == [shared: 2])
            // An invitation is no membership.
            #expect(await swept(cleo) == [own: 1])
            #expect(await swept(anna, ben, cleo) == [shared: 2, own: 1])
            #expect(await swept(world.stranger("dora")).isEmpty)
            #expect(try await ben.leave(shared).status == 204)
            #expect(await swept(ben).isEmpty)
            #expect(await swept(anna) == [shared: 3])
        }
    }

    @Test func `changes, fixes and events reach who listens`() async throws {
        try await SmallFleet.with(relays: "relay-1") { fleet in
            let world = fleet.world
            let relay = fleet.relays[0]
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            // A subscription that is still on its way hears nothing, so the first is repeated.
            try await eventually("a change is heard") {
                try await anna.share(circle, false)
                try await anna.share(circle)
                return !relay.changes.isEmpty
            }
            #expect(relay.changes.allSatisfy { "\($0.groupID)" == circle && !$0.isGone })
            let place = try await anna.putPlace(circle)
            try await eventually("a fix and an event are heard") {
                _ = try await anna.post("/api/me/fix", "{\"latitude\":3,\"longitude\":4}")
                _ = try await anna.postEvent(circle, place)
                return !relay.fixes.isEmpty && !relay.events.isEmpty
            }
            #expect(relay.fixes.first?.fix.latitude == 3)
            #expect(relay.events.first?.placeName == "Home")
        }
    }

    @Test func `auth's word to forget someone is heard beside the relays' questions`() async throws
    {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let desk = world.process.desk
            func ask(_ body: [UInt8]) async -> [UInt8] {
                await desk.answer(body, trace: .random())
            }
            let erasure = EraseAccount(accountID: anna.id, receivedAt: world.clock.now)
            #expect(try EraseAccountAnswer(decoding: await ask(erasure.encoded())).isClean)
            #expect(try await world.count("SELECT count(*) FROM groups.accounts") == 0)
            let question = GroupsRequest(body: .sweep(accountIDs: []))
            let reply = try GroupsReply(decoding: await ask(question.encoded()))
            #expect(reply == GroupsReply(to: question, .versions([])))
            for rubbish in [[], [0xFF], Array(question.encoded().prefix(20))] as [[UInt8]] {
                #expect(
                    try GroupsReply(decoding: await ask(rubbish)).body == .refused(.invalid)
                )
            }
            #expect(try await world.count("SELECT count(*) FROM groups.erased_accounts") == 1)
        }
    }

    @Test func `a database that is away is unavailable here and 503 over HTTP`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        try await GroupsWorld.with(postgres: postgres) { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            try await postgres.stop()
            for path in ["/api/friends", "/api/circles/\(circle)/positions"] {
                let answer = try await anna.get(path)
                #expect(answer.status == 503)
                #expect(answer.code == "database.unavailable")
                #expect(answer.headers.first("Retry-After") == "2")
            }
            let sweep = GroupsRequest(body: .sweep(accountIDs: []))
            #expect(await world.process.desk.answer(sweep) == .refused(.unavailable))
            let erasure = EraseAccount(accountID: anna.id, receivedAt: world.clock.now)
            #expect(await !world.process.desk.erase(erasure))
            try await postgres.start()
            try await eventually("groups are back") {
                try await anna.get("/api/friends").status == 200
            }
        }
    }
}
