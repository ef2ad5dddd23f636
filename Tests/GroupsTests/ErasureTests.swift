import Bus
import Database
import Foundation
import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// Forgetting an account and handing out what is stored about it (case 75, decisions 11 and 29).
@Suite(.timeLimit(.minutes(5))) struct ErasureTests {
    private func erase(_ person: Person, _ world: GroupsWorld) async -> Bool {
        await world.process.desk.erase(
            EraseAccount(accountID: person.id, receivedAt: world.clock.now)
        )
    }

    @Test func `an erased account leaves no row (case 75)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo, dora) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo"), try await world.person("dora")
            )
            let circle = try await world.sharingCircle(anna, ben)
            let bens = try await world.sharingCircle(ben)
            try await ben.invite(anna, to: bens)
            let convoy = try await anna.create("convoys")
            let lonely = try await anna.create("circles", "lonely")
            try await world.befriend(anna, cleo)
            try await anna.invite(cleo, to: convoy)
            try await dora.ask("anna")
            let place = try await anna.putPlace(circle)
            _ = try await anna.postFix(circle)
            _ = try await anna.postEvent(circle, place)
            _ = try await ben.postEvent(circle, place)
            world.relays.clear()
            for _ in 0..<2 { #expect(await erase(anna, world)) }

            try await Self.expectNoTrace(of: anna, in: world)
            let group = try #require(try await ben.group(circle))
            #expect(group["ownerId"].string == "\(ben.id)")
            #expect(group["members"].array.count == 1)
            #expect(try await ben.friends().isEmpty)
            #expect(try await dora.friends().isEmpty)
            #expect(try await cleo.groups("convoys").isEmpty)
            #expect(
                try await ben.get("/api/circles/\(circle)/events").json["events"].array.count == 1
            )
            let gone = world.relays.changes.filter(\.isGone).map { "\($0.groupID)" }
            #expect(Set(gone) == [convoy, lonely])
            let withdrawn = Set(world.relays.withdrawals.map { "\($0.groupID)" })
            #expect(withdrawn == [circle, convoy, lonely])
            #expect(world.relays.withdrawals.allSatisfy { $0.reason == .erased })
        }
    }

    @Test func `its token brings nothing back, and its handle is free`() async throws {
        try await GroupsWorld.with(processes: 2) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let elsewhere = anna.at(world.processes[1])
            #expect(try await elsewhere.get("/api/friends").status == 200)
            #expect(await erase(anna, world))
            // The process that erased knows, and so does the one that had seen the account before.
            for person in [anna, elsewhere] {
                for _ in 0..<2 {
                    #expect(try await person.post("/api/circles", "{\"name\":\"a\"}").status == 401)
                }
            }
            #expect(
                try await elsewhere.post("/api/me/fix", "{\"latitude\":1,\"longitude\":1}").status
                    == 401
            )
            try await Self.expectNoTrace(of: anna, in: world)
            let other = try await world.person("anna")
            #expect(try await ben.ask("anna") == "pending")
            #expect(try await other.friends() == ["ben": "incoming"])
        }
    }

    @Test func `the mark goes when the last token has expired`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            #expect(await erase(anna, world))
            let until = world.clock.now + 24 * 3600
            for (now, marks) in [(until - 1, 1), (until, 0)] {
                try await world.query { connection throws(DatabaseError) in
                    try Erasure.forgetMarks(at: now, on: connection)
                }
                #expect(
                    try await world.count("SELECT count(*) FROM groups.erased_accounts") == marks
                )
            }
        }
    }

    @Test func `someone nobody knew is erased, too`() async throws {
        try await GroupsWorld.with { world in
            let nobody = world.stranger("nobody")
            #expect(await erase(nobody, world))
            #expect(try await nobody.get("/api/friends").status == 401)
            try await Self.expectNoTrace(of: nobody, in: world)
        }
    }

    @Test(arguments: [true, false])
    func `an owner without a seat is erased, too`(hasHeir: Bool) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let handles = hasHeir ? "'anna'" : "'anna', 'ben'"
            try await world.query { connection throws(DatabaseError) in
                try connection.script(
                    """
                    DELETE FROM groups.members WHERE account_id IN
                        (SELECT id FROM groups.accounts WHERE handle IN (\(handles)))
                    """
                )
            }
            #expect(await erase(anna, world))
            try await Self.expectNoTrace(of: anna, in: world)
            #expect(
                try await ben.group(circle)?["ownerId"].string == (hasHeir ? "\(ben.id)" : nil)
            )
            #expect(
                try await world.count("SELECT count(*) FROM groups.groups") == (hasHeir ? 1 : 0)
            )
        }
    }

    @Test func `an export has everything of the account and nothing of others`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let convoy = try await anna.create("convoys", "ride")
            let place = try await anna.putPlace(circle, id: 7)
            _ = try await ben.putPlace(circle, id: 8)
            for person in [anna, ben] {
                _ = try await person.postFix(circle, latitude: person.id == anna.id ? 1 : 2)
                _ = try await person.postEvent(circle, place)
            }
            let export = JSON(try await Self.export(of: anna.id, in: world).text)
            #expect(
                export.keys
                    == ["username", "friends", "convoys", "circles", "fixes", "places", "events"]
            )
            #expect(export["username"].string == "anna")
            #expect(export["friends"][0]["rider"]["username"].string == "ben")
            #expect(export["convoys"][0]["id"].string == convoy)
            #expect(export["circles"][0]["id"].string == circle)
            #expect(export["fixes"].array.map { $0["latitude"].double } == [1])
            #expect(export["places"].array.map { $0["place"]["id"].int } == [7])
            #expect(export["events"].array.map { $0["kind"].string } == ["arrive"])
            let nobody = try await Self.export(of: .random(), in: world)
            #expect(
                nobody.text
                    == "{\"username\":null,\"friends\":[],\"convoys\":[],\"circles\":[],"
                    + "\"fixes\":[],\"places\":[],\"events\":[]}"
            )
        }
    }

    @Test func `an export larger than a message comes whole, in pages that each fit one`()
        async throws
    {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            for number in 0..<6 { _ = try await anna.create("circles", "circle \(number)") }
            for number in 0..<12 { _ = try await anna.create("convoys", "convoy \(number)") }
            // As many places as six circles may hold, each as large as one may be.
            try await world.query { connection throws(DatabaseError) in
                try connection.script(
                    """
                    INSERT INTO groups.places SELECT gen_random_uuid(), g.id, g.owner_id, n,
                        'place', 5, json_build_object('id', n, 'radiusMeters', 5, 'more',
                        repeat('x', 65480))::text, 1, nextval('groups.turn')
                    FROM groups.groups g, generate_series(1, 50) n WHERE g.kind = 'Circle';
                    INSERT INTO groups.events (group_id, seq, id, account_id, place_id, kind,
                        timestamp_ms)
                    SELECT g.id, n, gen_random_uuid(), g.owner_id, gen_random_uuid(), 'Arrive', n
                    FROM groups.groups g, generate_series(1, 500) n WHERE g.kind = 'Circle';
                    """
                )
            }
            let export = try await Self.export(of: anna.id, in: world)
            let limit = BusLimits().messageBytes
            #expect(export.text.utf8.count > limit)
            #expect(export.largestMessage < limit / 2)
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(export.text.utf8)) as? [String: Any]
            )
            for (name, count) in [("circles", 6), ("convoys", 12), ("places", 300)] {
                let values = try #require(object[name] as? [[String: Any]])
                #expect(values.count == count)
                #expect(Set(values.compactMap { $0["id"] as? String }).count == count)
            }
            #expect((object["events"] as? [Any])?.count == 3000)
        }
    }

    @Test(arguments: [
        "x", "-1", "9", "/", "0/", "0/x/1", "0//1", "0/1", "3/\(UniqueID.random())/x",
    ])
    func `what names no page is refused`(cursor: String) async throws {
        try await GroupsWorld.with { world in
            let query = AccountDataQuery(accountID: .random(), cursor: cursor)
            #expect(await world.process.desk.data(query) == .unavailable)
        }
    }

    /// All pages of an export, and the bytes of the largest message that carried one.
    private static func export(
        of account: UniqueID,
        in world: GroupsWorld
    ) async throws -> (text: String, largestMessage: Int) {
        var bytes: [UInt8] = []
        var largest = 0
        var cursor: String? = ""
        while let place = cursor {
            let query = AccountDataQuery(accountID: account, cursor: place)
            let reply = await world.process.desk.answer(query.encoded(), trace: query.trace)
            largest = max(largest, reply.count)
            guard case .part(let json, let next) = try AccountDataAnswer(decoding: reply).body
            else { throw Late("a page") }
            bytes += json
            cursor = next
        }
        return (String(decoding: bytes, as: UTF8.self), largest)
    }

    /// Looks for an account's id in every column of every table.
    static func expectNoTrace(of person: Person, in world: GroupsWorld) async throws {
        let traces = try await world.query { connection throws(DatabaseError) in
            let tables = try connection.query(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'groups'"
            )
            var traces: [String] = []
            for table in tables {
                let name = try table.text(0)
                let count = try connection.query(
                    "SELECT count(*) FROM groups.\(name) t WHERE t::text LIKE '%' || $1 || '%'",
                    [.text(person.id.description)]
                ).one().int(0)
                if count > 0 { traces.append(name) }
            }
            return traces
        }
        #expect(traces.isEmpty, "rows that name the account: \(traces)")
    }
}
