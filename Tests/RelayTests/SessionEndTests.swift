import Database
import Foundation
import ServiceKit
import Synchronization
import TestKit
import Testing
import Transit
import Web

@testable import RelayService

/// Sockets whose session ends, and changes that nobody told the relay of.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SessionEndTests {
    /// A member of auth's own making.
    private func signUp(_ handle: String, in world: RelayWorld) async throws -> Traveller {
        let answer = try await call(
            world,
            .post,
            "/api/v1/auth/register",
            "{\"handle\":\"\(handle)\",\"password\":\"correct horse\"}"
        )
        let token = try #require(answer.json["access_token"].string, "\(answer)")
        let id = try #require(answer.json["account_id"].id)
        let person = Traveller(id: id, handle: handle, token: token, world: world)
        #expect(try await person.get("/api/friends").status == 200)
        return person
    }

    private func call(
        _ world: RelayWorld,
        _ method: HTTPMethod,
        _ path: String,
        _ body: String,
        token: String = ""
    ) async throws -> (status: Int, json: JSON) {
        let answer = try await world.http.send(
            method,
            "http://127.0.0.1:\(try #require(world.auth).port)\(path)",
            headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
            body: Array(body.utf8)
        )
        return (answer.status, JSON(answer.body))
    }

    @Test func `who signs out, or whose account is deleted, gets nothing after the answer`()
        async throws
    {
        try await RelayWorld.with(relays: 2, auth: true) { world in
            let (anna, ben) = (
                try await signUp("anna", in: world), try await signUp("ben", in: world)
            )
            let cleo = try await world.person("cleo")
            let convoy = try await world.group("convoys", cleo, anna, ben)
            let (a, b, c) = (
                try await world.connect(anna, at: 0), try await world.connect(ben, at: 1),
                try await world.connect(cleo, at: 0)
            )
            for client in [a, b, c] {
                client.join(convoy)
                try await client.next("joined")
            }
            for client in [a, b, c] { _ = client.take() }
            #expect(
                try await call(world, .post, "/api/v1/auth/logout", "", token: anna.token).status
                    < 300
            )
            c.locate(1)
            #expect(try await a.close() == 4001)
            #expect(a.frames.isEmpty)
            try await b.position(of: cleo, at: 1)
            #expect(try await c.next("left")["user"].id == anna.id)
            let gone = try await call(
                world,
                .delete,
                "/api/me",
                "{\"password\":\"correct horse\"}",
                token: ben.token
            )
            // No feed lives here, which auth will ask again until it has forgotten, too.
            #expect(gone.status == 202, "\(gone)")
            c.locate(2)
            #expect([4001, 1000].contains(try await b.close()))
            #expect(b.frames.isEmpty)
            #expect(try await c.next("left")["user"].id == ben.id)
        }
    }

    @Test(arguments: [false, true])
    func `when a relay lost what others publish, it shows nobody who signed out`(
        closesFirst: Bool
    ) async throws {
        let isDeaf = Atomic(false)
        let hears: @Sendable (Int) -> Bool = { relay in
            relay == 0 || !isDeaf.load(ordering: .relaxed)
        }
        try await RelayWorld.with(relays: 2, hears: hears, auth: true) { world in
            let anna = try await signUp("anna", in: world)
            let (ben, cleo) = (try await world.person("ben"), try await world.person("cleo"))
            let convoy = try await world.group("convoys", ben, anna, cleo)
            let (a, b) = (try await world.connect(anna, at: 0), try await world.connect(ben, at: 1))
            for client in [a, b] {
                client.join(convoy)
                try await client.next("joined")
            }
            a.locate(1)
            try await b.position(of: anna, at: 1)
            isDeaf.store(true, ordering: .relaxed)
            a.locate(2)
            try await a.roundTrip()
            _ = b.take()
            if closesFirst {
                a.abort()
                try await eventually("its relay has noticed") { try await world.sockets() == 0 }
            }
            let answer = try await call(
                world,
                .post,
                "/api/v1/auth/logout",
                "",
                token: anna.token
            )
            #expect(answer.status < 300)
            // From here on nobody sees her.
            let c = try await LiveClient(port: world.relays[1].port, token: cleo.token)
            c.join(convoy)
            try await c.next("joined")
            for client in [b, c] { try await client.roundTrip() }
            #expect(c.frames.isEmpty)
            #expect(b.frames.map(\.type) == (closesFirst ? [] : ["left"]))
            #expect(
                try await world.figure(
                    "relay_session_ends_answered_total",
                    of: world.relays[0]
                ) == 1
            )
        }
    }

    @Test func `a socket ends with its token, unless a fresh one came`() async throws {
        try await RelayWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let short = world.tokens.token(
                .member,
                subject: anna.id,
                lifetime: .seconds(5),
                handle: "anna"
            )
            let a = try await LiveClient(port: world.relays[0].port, token: short)
            let b = try await LiveClient(
                port: world.relays[0].port,
                token: world.tokens.token(
                    .member,
                    subject: ben.id,
                    lifetime: .seconds(5),
                    handle: "ben"
                )
            )
            b.send("{\"type\":\"auth\",\"token\":\"\(anna.token)\"}")
            #expect(try await b.next("error").keys == ["type", "message"])
            b.send("{\"type\":\"auth\",\"token\":\"\(ben.token)\"}")
            #expect(try await b.next("auth")["expiresAt"].int ?? 0 > 0)
            #expect(try await a.close() == 4001)
            try await b.roundTrip()
        }
    }

    @Test func `what was committed and never told is found by the sweep`() async throws {
        try await RelayWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let convoy = try await world.group("convoys", anna, ben)
            let (a, b) = (try await world.connect(anna), try await world.connect(ben))
            for client in [a, b] {
                client.join(convoy)
                try await client.next("joined")
            }
            // A groups that dies between commit and publication does exactly this.
            let owner = world.database.open(connections: 1)
            let (group, account) = (try #require(UniqueID(convoy)), anna.id)
            try await owner.transaction { connection throws(DatabaseError) in
                try connection.execute(
                    "DELETE FROM groups.members WHERE group_id = $1 AND account_id = $2",
                    [.uuid(group), .uuid(account)]
                )
                try connection.execute(
                    "UPDATE groups.groups SET version = version + 1 WHERE id = $1",
                    [.uuid(group)]
                )
            }
            await owner.close()
            #expect(try await b.next("left")["user"].id == anna.id)
            #expect(try await a.close() == 1000)
            #expect(try await world.figure("relay_sweep_finds_total", of: world.relays[0]) >= 1)
        }
    }

    @Test func `with groups away positions stop, and nobody is closed`() async throws {
        var limits = RelayLimits.inTests
        limits.viewLifetime = .seconds(4)
        limits.askLimit = .milliseconds(500)
        try await RelayWorld.with(limits: limits) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let convoy = try await world.group("convoys", anna, ben)
            let (a, b) = (try await world.connect(anna), try await world.connect(ben))
            b.join(convoy)
            try await b.next("joined")
            a.locate(1)
            try await b.position(of: anna, at: 1)
            await world.groups.stop()
            try await eventually("the group is silent") {
                try await world.figure("relay_silent_groups_items", of: world.relays[0]) == 1
            }
            _ = b.take()
            a.locate(2)
            try await a.roundTrip()
            try await b.roundTrip()
            #expect(b.take().isEmpty)
            b.join(convoy)
            #expect(try await b.next("error").keys == ["type", "message"])
            #expect(!a.isClosed && !b.isClosed)
        }
    }

    @Test func `the relay's role may draw claims and read nothing of groups`() async throws {
        try await RelayWorld.with { world in
            let relay = world.database.open(connections: 1, role: Relay.schema.role)
            let drawn = await ClaimSequence(relay).draw(3)
            #expect(drawn?.count == 3)
            for table in [
                "accounts", "friendships", "groups", "members", "fixes", "places", "events",
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
}
