import Database
import Messages
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// Last fixes (cases 16, 18, 19, 36, 37 and 39 as far as they are not the relay's).
@Suite(.timeLimit(.minutes(5))) struct FixTests {
    @Test func `a position names its rider by id alone (case 16)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            _ = try await ben.postFix(
                circle,
                more: ",\"accuracyMeters\":12.5,\"timestampMs\":1771257600123"
            )
            let answer = try await anna.get("/api/circles/\(circle)/positions")
            #expect(
                answer.body == "{\"fixes\":[{\"riderId\":\"\(ben.id)\",\"latitude\":47.6,"
                    + "\"longitude\":-122.3,\"accuracyMeters\":12.5,\"timestampMs\":1771257600123}]}"
            )
            #expect(answer.headers.first("Cache-Control") == "no-store")
        }
    }

    @Test func `a clock that was ahead blinds no circle and leaves no fix of tomorrow`()
        async throws
    {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            _ = try await ben.postFix(circle, latitude: 1)
            func move(by milliseconds: Int64) async throws {
                try await world.query { connection throws(DatabaseError) in
                    for (table, column) in [
                        ("members", "sharing_since_ms"), ("fixes", "received_at_ms"),
                    ] {
                        try connection.script(
                            "UPDATE groups.\(table) SET \(column) = \(column) + \(milliseconds)"
                        )
                    }
                }
            }
            // What another process wrote in this second stays.
            try await move(by: ClockStep.tolerance)
            try await world.process.housekeeping.tidy()
            #expect(try await anna.fixes(circle)["\(ben.id)"]?["latitude"].double == 1)
            let version = "SELECT max(version)::int FROM groups.groups"
            let before = try await world.count(version)

            try await move(by: 6_739_200_000)
            #expect(try await ben.postFix(circle, latitude: 2).status == 204)
            try await world.process.housekeeping.tidy()
            #expect(try await anna.fixes(circle).isEmpty)
            #expect(try await world.count(version) == before + 1)
            #expect(try await ben.postFix(circle, latitude: 3).status == 204)
            #expect(try await anna.fixes(circle)["\(ben.id)"]?["latitude"].double == 3)
            try await world.process.housekeeping.tidy()
            #expect(try await world.count(version) == before + 1, "once is enough")
        }
    }

    @Test func `a second position overwrites the first (case 18)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            for latitude in [1.0, 2.0, 3.0] {
                // The phone's clock runs backwards; what came last counts.
                let more = ",\"timestampMs\":\(Int(10 - latitude))"
                #expect(
                    try await anna.postFix(circle, latitude: latitude, more: more).status == 204
                )
            }
            #expect(try await world.count("SELECT count(*) FROM groups.fixes") == 1)
            let fix = try #require(try await anna.fixes(circle)["\(anna.id)"])
            #expect(fix["latitude"].double == 3)
            #expect(fix["timestampMs"].int == 7)
        }
    }

    @Test(arguments: [
        ("91,\"longitude\":0", 400), ("90.0000001,\"longitude\":0", 400),
        ("90,\"longitude\":180", 204), ("-90,\"longitude\":-180", 204),
        ("-91,\"longitude\":0", 400), ("0,\"longitude\":180.1", 400),
        ("0,\"longitude\":-180.1", 400), ("0,\"longitude\":null", 400), ("0", 400),
        ("\"0\",\"longitude\":0", 400), ("0,\"longitude\":{}", 400), ("1e400,\"longitude\":0", 400),
    ])
    func `coordinates are kept in their range (case 19)`(rest: String, status: Int) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            for path in ["/api/circles/\(circle)/positions", "/api/me/fix"] {
                let answer = try await anna.post(path, "{\"latitude\":\(rest)}")
                #expect(answer.status == status, "\(answer)")
            }
            let rows = try await world.count("SELECT count(*) FROM groups.fixes")
            #expect(rows == (status == 204 ? 1 : 0))
        }
    }

    @Test(arguments: [
        ("0", 0.0), ("100000", 100_000.0), ("100000.5", nil), ("-0.1", nil), ("null", nil),
        ("12.25", 12.25),
    ])
    func `an accuracy that makes no sense is stored as unknown`(
        text: String,
        kept: Double?
    ) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            #expect(
                try await anna.postFix(circle, more: ",\"accuracyMeters\":\(text)").status == 204
            )
            let fix = try #require(try await anna.fixes(circle)["\(anna.id)"])
            #expect(fix["accuracyMeters"].double == kept)
            #expect(fix.keys.contains("accuracyMeters"))
        }
    }

    @Test(arguments: ["", ",\"timestampMs\":0", ",\"timestampMs\":-5", ",\"timestampMs\":null"])
    func `a missing instant is now`(more: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            _ = try await anna.postFix(circle, more: more)
            let fix = try #require(try await anna.fixes(circle)["\(anna.id)"])
            #expect(fix["timestampMs"].int == Int(world.clock.now * 1000))
        }
    }

    @Test func `a fix that came earlier never overwrites a later one`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            _ = try await anna.postFix(circle, latitude: 2)
            let late = MemberFix(
                latitude: 1,
                longitude: 1,
                timestampMilliseconds: .max,
                receivedAtMilliseconds: world.clock.now * 1000 - 1
            )
            let request = GroupsRequest(
                body: .storeFixes([AccountFix(accountID: anna.id, fix: late)])
            )
            #expect(await world.process.desk.answer(request) == .stored)
            #expect(try await anna.fixes(circle)["\(anna.id)"]?["latitude"].double == 2)
        }
    }

    @Test(arguments: [(-1, false), (0, true), (1, true)])
    func `a fix that a relay brings late is not stored where its member shared only after it`(
        after: Int64,
        isStored: Bool
    ) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.group("circles", anna, ben)
            let resumed = try await world.sharingCircle(anna, ben)
            try await anna.share(resumed, false)
            world.clock.advance(by: 10)
            try await anna.share(circle, true)
            try await anna.share(resumed, true)
            let request = GroupsRequest(
                body: .storeFixes([
                    AccountFix(
                        accountID: anna.id,
                        fix: MemberFix(
                            latitude: 1,
                            longitude: 2,
                            timestampMilliseconds: 3,
                            receivedAtMilliseconds: world.clock.now * 1000 + after
                        )
                    )
                ])
            )
            #expect(await world.process.desk.answer(request) == .stored)
            for group in [circle, resumed] {
                #expect(try await ben.fixes(group).isEmpty == !isStored)
            }
        }
    }

    @Test(arguments: [(-1, true), (0, true), (1, false)])
    func `a fix that came before its sender shared goes nowhere, though its call ends after`(
        after: Int64,
        isTaken: Bool
    ) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let convoy = try await world.group("convoys", anna, ben)
            let since = world.clock.now * 1000 + after
            // Both have read their fix when the switch is turned, and go on behind it.
            try await world.holding(
                "UPDATE groups.members SET sharing_since_ms = \(since) WHERE account_id = $1",
                anna.id,
                untilWaiting: 2,
                [
                    {
                        let answer = try await anna.postFix(circle)
                        #expect(answer.status == 204)
                    },
                    {
                        let body = "{\"latitude\":1,\"longitude\":2}"
                        let answer = try await anna.post("/api/me/fix", body)
                        #expect(answer.status == 204)
                    },
                ]
            )
            #expect(try await ben.fixes(circle).count == (isTaken ? 1 : 0))
            let targets = world.relays.fixes.flatMap(\.targets).map { "\($0.groupID)" }
            #expect(Set(targets) == (isTaken ? [circle, convoy] : []))
        }
    }

    @Test func `one fix reaches what is shared and not what is paused (case 36)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let shared = try await world.sharingCircle(anna, ben)
            let paused = try await world.sharingCircle(anna, ben)
            let convoy = try await world.group("convoys", anna, ben)
            try await anna.share(paused, false)
            let answer = try await anna.post(
                "/api/me/fix",
                "{\"latitude\":1,\"longitude\":2,\"accuracyMeters\":3,\"timestampMs\":4}"
            )
            #expect(answer.status == 204)
            #expect(try await ben.fixes(shared).count == 1)
            #expect(try await ben.fixes(paused).isEmpty)
            // A convoy stores nothing (case 37), and is told to whoever looks (case 39: 300 s).
            #expect(try await world.count("SELECT count(*) FROM groups.fixes") == 1)
            let fix = try #require(world.relays.fixes.first)
            #expect(world.relays.fixes.count == 1)
            #expect(fix.accountID == anna.id)
            #expect(fix.ttlSeconds == 300)
            #expect([fix.fix.latitude, fix.fix.longitude] == [1, 2])
            let targets = Dictionary(
                uniqueKeysWithValues: fix.targets.map { ("\($0.groupID)", $0.sharesWhileConnected) }
            )
            #expect(targets == [shared: false, convoy: true])
        }
    }

    @Test func `a fix to one circle is stored and shown nowhere live`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            _ = try await anna.postFix(circle)
            #expect(world.relays.fixes.isEmpty)
        }
    }

    @Test func `someone in no group leaves nothing behind`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let answer = try await anna.post("/api/me/fix", "{\"latitude\":1,\"longitude\":2}")
            #expect(answer.status == 204)
            #expect(world.relays.fixes.isEmpty)
            #expect(try await world.count("SELECT count(*) FROM groups.fixes") == 0)
        }
    }

    @Test func `who is only invited neither sees nor is seen (case 8)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna)
            try await world.befriend(anna, ben)
            try await anna.invite(ben, to: circle)
            _ = try await anna.postFix(circle)
            _ = try await ben.post("/api/me/fix", "{\"latitude\":1,\"longitude\":2}")
            #expect(try await anna.fixes(circle).count == 1)
            #expect(try await ben.postFix(circle).status == 404)
            #expect(try await ben.get("/api/circles/\(circle)/positions").status == 404)
            #expect(world.relays.fixes.isEmpty)
        }
    }

    @Test func `a relay's fixes are stored for who shares, latest of each`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            try await ben.share(circle, false)
            let now = world.clock.now * 1000
            func fix(_ latitude: Double, _ after: Int64) -> MemberFix {
                MemberFix(
                    latitude: latitude,
                    longitude: 0,
                    timestampMilliseconds: 1,
                    receivedAtMilliseconds: now + after
                )
            }
            let fixes = [
                AccountFix(accountID: anna.id, fix: fix(2, 20)),
                AccountFix(accountID: anna.id, fix: fix(1, 10)),
                AccountFix(accountID: ben.id, fix: fix(3, 30)),
                AccountFix(accountID: .random(), fix: fix(4, 40)),
            ]
            let desk = world.process.desk
            #expect(await desk.answer(GroupsRequest(body: .storeFixes(fixes))) == .stored)
            let seen = try await anna.fixes(circle)
            #expect(seen.keys.sorted() == ["\(anna.id)"])
            #expect(seen["\(anna.id)"]?["latitude"].double == 2)
            let wrong = [AccountFix(accountID: anna.id, fix: fix(91, 50))]
            #expect(
                await desk.answer(GroupsRequest(body: .storeFixes(wrong))) == .refused(.invalid)
            )
        }
    }
}
