import Database
import Foundation
import Messages
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// Rules about the code itself: where kinds are asked for, who makes a pass, what reading costs.
@Suite(.timeLimit(.minutes(5))) struct SourceTests {
    /// Lines of code of a service that have something, comments left out.
    private static func lines(
        of service: String,
        besides exceptions: Set<String> = [],
        where isFound: (Substring) -> Bool
    ) throws -> [String] {
        let folder = ProjectPaths.root + "/services/\(service)/Sources"
        var lines: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder)
        where path.hasSuffix(".swift") && !exceptions.contains(path) {
            let text = try String(contentsOfFile: folder + "/" + path, encoding: .utf8)
            for line in text.split(separator: "\n")
            where !line.drop(while: \.isWhitespace).hasPrefix("//") && isFound(line) {
                lines.append("\(path): \(line)")
            }
        }
        return lines
    }

    @Test func `at most two places ask which kind a group has, none of them here`() throws {
        func asks(_ line: Substring) -> Bool {
            line.firstMatch(of: #/\.(circle|convoy)\b|[kK]ind(\.name)?\s*[=!]=|"(circle|convoy)"/#)
                != nil
        }
        let table: Set<String> = ["Kinds/GroupKind.swift"]
        // A place event has a kind of its own, which is no group's.
        let here = try Self.lines(of: "groups", besides: table, where: asks)
        #expect(here.isEmpty, "\(here)")
        #expect(try Self.lines(of: "relay", where: asks).count <= 2)
        // The search finds what it looks for.
        #expect(try !Self.lines(of: "groups", where: asks).isEmpty)
    }

    @Test func `only the gate makes a pass and only the locks a locked group`() throws {
        let passes = try Self.lines(of: "groups") { $0.contains(#/\bPass\(/#) }
        #expect(passes.allSatisfy { $0.hasPrefix("Gate/Gate.swift") }, "\(passes)")
        #expect(!passes.isEmpty)
        let locked = try Self.lines(of: "groups") { $0.contains(#/\bLockedGroup\(/#) }
        #expect(locked.allSatisfy { $0.hasPrefix("Gate/Locks.swift") }, "\(locked)")
        #expect(!locked.isEmpty)
    }

    /// Who may say what stands in a group, besides the gate itself: whoever has its answer or the
    /// group's lock, who makes a group, and who forgets or hands out what is one account's own.
    private static let tellers: [String: String] = [
        "Fixes/FixStore.swift": "Pass", "Fixes/FixLook.swift": "Look",
        "Places/PlaceStore.swift": "Pass", "Places/PlaceLook.swift": "Look",
        "Events/EventStore.swift": "Pass", "Events/PlaceEvent.swift": "Look",
        "Events/EventAnswers.swift": "Pass",
        "Sharing/Sharing.swift": "Pass", "Sharing/ClockStep.swift": "LockedGroup",
        "Audience/Audience.swift": "Survey",
        "Memberships/GroupList.swift": "Survey", "Relay/GroupViews.swift": "Survey",
        "Memberships/Invitation.swift": "LockedGroup or Pass",
        "Memberships/AccountLimits.swift": "an account's own rows, counted",
        "Memberships/Departure.swift": "LockedGroup", "Friends/Severance.swift": "LockedGroup",
        "Memberships/NewGroup.swift": "makes it", "Erasure/Erasure.swift": "LockedGroup",
        "Erasure/ExportPart.swift": "Survey, and an account's own events",
    ]

    @Test func `no other file reads or writes what is in a group`() throws {
        let table = #/(FROM|JOIN|INTO|UPDATE) groups\.(members|fixes|places|event(s|_answers))\b/#
        let files = Set(
            try Self.lines(of: "groups") { $0.contains(table) }
                .map { String($0.prefix { $0 != ":" }) }
                .filter { !$0.hasPrefix("Gate/") }
        )
        #expect(files == Set(Self.tellers.keys))
        // What comes of a look or a survey is run by the gate alone.
        let runs = try Self.lines(of: "groups") { $0.contains(#/\b(look|survey)\.sql\b/#) }
        #expect(runs.allSatisfy { $0.hasPrefix("Gate/") }, "\(runs)")
        #expect(runs.count == 2)
    }

    @Test func `every path of groups leads there through the gateway`() async throws {
        struct Table: Decodable {
            struct Route: Decodable {
                let prefix: String
                let service: String
            }
            let routes: [Route]
        }
        let file = ProjectPaths.root + "/deploy/routes.json"
        let data = try #require(FileManager.default.contents(atPath: file))
        let routes = try JSONDecoder().decode(Table.self, from: data).routes
        try await GroupsWorld.with { world in
            for endpoint in world.process.endpoints {
                let route = routes.filter { endpoint.pattern.hasPrefix($0.prefix) }
                    .max { $0.prefix.count < $1.prefix.count }
                #expect(route?.service == "groups", "\(endpoint.pattern)")
                // Another router on the shared host name takes every path with this prefix.
                #expect(!endpoint.pattern.hasPrefix("/route"))
            }
        }
    }

    @Test func `the relay's role reads none of these tables`() async throws {
        try await GroupsWorld.with { world in
            try await world.query { connection throws(DatabaseError) in
                try connection.script(
                    """
                    DO $$ BEGIN CREATE ROLE alongside_relay NOLOGIN;
                    EXCEPTION WHEN duplicate_object THEN NULL; END $$
                    """
                )
            }
            let relay = world.database.open(connections: 1, role: "alongside_relay")
            for table in [
                "accounts", "friendships", "groups", "members", "fixes", "places", "events",
                "event_answers",
            ] {
                let error = await #expect(throws: DatabaseError.self) {
                    try await relay.withConnection { connection throws(DatabaseError) in
                        _ = try connection.query("SELECT * FROM groups.\(table)")
                    }
                }
                #expect(error?.sqlState == "42501", "\(table)")
            }
            await relay.close()
        }
    }

    @Test func `no position, place or event stands in a log`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await anna.putPlace(circle, name: "Secretplace")
            _ = try await anna.postFix(circle, latitude: 47.123456)
            _ = try await anna.post("/api/me/fix", "{\"latitude\":47.123456,\"longitude\":8}")
            _ = try await anna.post("/api/me/fix", "{\"latitude\":147.123456,\"longitude\":8}")
            _ = try await anna.postEvent(circle, place)
            _ = try await anna.get("/api/circles/\(circle)/events")
            _ = try await anna.unfriend(ben)
            let log = world.process.log.text
            #expect(log.contains("/api/me/fix"))
            for secret in ["47.123456", "Secretplace", "arrive", anna.token] {
                #expect(!log.contains(secret), "\(secret)")
            }
        }
    }

    @Test func `everything that is answered is kept by no cache`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            for path in [
                "/api/friends", "/api/circles", "/api/convoys", "/api/me/audience",
                "/api/circles/\(circle)/positions", "/api/circles/\(circle)/places",
                "/api/circles/\(circle)/events", "/api/circles/x/events",
            ] {
                let answer = try await anna.get(path)
                #expect(answer.headers.values("Cache-Control") == ["no-store"], "\(path)")
            }
            // What is refused before it gets here, too: no method, no path, no token, no role.
            let stranger = Person(id: .random(), handle: "", token: "", process: world.process)
            let token = TestTokens(clock: world.clock.application).token(.rider)
            let rider = Person(id: .random(), handle: "", token: token, process: world.process)
            let refused = [
                try await anna.put("/api/friends", "{}"), try await anna.get("/api/friends/x/y"),
                try await stranger.get("/api/friends"), try await rider.get("/api/friends"),
                try await anna.post("/api/circles", String(repeating: " ", count: 100_000)),
            ]
            #expect(refused.map(\.status) == [405, 404, 401, 403, 413])
            for answer in refused {
                #expect(answer.headers.values("Cache-Control") == ["no-store"], "\(answer)")
            }
        }
    }

    @Test func `each read is one statement, however much there is to read`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(
            settings: ["fsync=off", "log_statement=all"]
        )
        let log = try await postgres.folder() + "/log"
        try await GroupsWorld.with(postgres: postgres) { world in
            let anna = try await world.person("anna")
            var circle = ""
            for number in 0..<3 {
                let friend = try await world.person("friend\(number)")
                circle = try await world.sharingCircle(anna, friend)
                _ = try await friend.postFix(circle)
                let place = try await friend.putPlace(circle)
                _ = try await friend.postEvent(circle, place)
            }
            func statements() -> Int {
                let text = String(
                    decoding: FileManager.default.contents(atPath: log) ?? Data(),
                    as: UTF8.self
                )
                return text.split(separator: "\n").count { line in
                    line.contains("execute ") || line.contains("statement: ")
                }
            }
            let paths = [
                "/api/friends", "/api/circles", "/api/convoys", "/api/me/audience",
                "/api/circles/\(circle)/positions", "/api/circles/\(circle)/places",
                "/api/circles/\(circle)/events",
            ]
            // Prepared once per connection: warm both.
            for path in paths + paths + paths { _ = try await anna.get(path) }
            for path in paths {
                let before = statements()
                for _ in 0..<5 { #expect(try await anna.get(path).status == 200) }
                #expect(statements() - before == 5, "\(path)")
            }
            let desk = world.process.desk
            let questions: [GroupsRequest.Body] = [
                .sweep(accountIDs: [anna.id]), .sweep(accountIDs: []),
                .views(groupIDs: [], accountIDs: [anna.id]),
            ]
            for question in questions {
                let before = statements()
                for _ in 0..<5 { _ = await desk.answer(GroupsRequest(body: question)) }
                #expect(statements() - before == 5)
            }
        }
    }

    @Test func `the audience is who can see me, and through what (decision 30)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try await world.sharingCircle(anna, ben)
            let paused = try await world.sharingCircle(anna, cleo)
            try await anna.share(paused, false)
            _ = try await world.sharingCircle(anna)
            let convoy = try await world.group("convoys", anna, name: "Ride")
            try await anna.invite(ben, to: convoy)
            try await ben.accept(convoy)
            try await anna.invite(cleo, to: convoy)
            let answer = try await anna.get("/api/me/audience")
            let bens = "[{\"id\":\"\(ben.id)\",\"username\":\"ben\"}]"
            #expect(
                answer.body
                    == "{\"audience\":[{\"group\":{\"id\":\"\(convoy)\",\"kind\":\"convoy\","
                    + "\"name\":\"Ride\"},\"members\":\(bens),\"reason\":\"while_connected\"},"
                    + "{\"group\":{\"id\":\"\(circle)\",\"kind\":\"circle\",\"name\":\"Family\"},"
                    + "\"members\":\(bens),\"reason\":\"sharing\"}]}"
            )
            // Who is only invited sees nobody and is seen by nobody.
            #expect(try await cleo.get("/api/me/audience").json["audience"].array.count == 1)
        }
    }
}
