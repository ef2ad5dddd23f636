import Foundation
import Synchronization
import TestKit
import Testing
import Transit
import Web

@testable import RelayService

/// The live protocol over real sockets, with one relay and with two (spec, cases 44-71).
@Suite(.serialized, .timeLimit(.minutes(5))) struct LiveTests {
    @Test func `an upgrade needs a member's token and a WebSocket`() async throws {
        try await RelayWorld.with { world in
            func status(_ token: String?) async -> Int {
                do {
                    _ = try await LiveClient(port: world.relays[0].port, token: token)
                    return 101
                } catch { return (error as? LiveClient.Refused)?.status ?? -1 }
            }
            #expect(await status(nil) == 401)
            #expect(await status("nonsense") == 401)
            let anna = try await world.person("anna")
            #expect(await status(String(anna.token.dropLast(2))) == 401)
            #expect(await status(world.tokens.token(.member, lifetime: .seconds(-1))) == 401)
            for role in [Role.rider, .driver, .admin] {
                #expect(await status(world.tokens.token(role)) == 403)
            }
            #expect(await status(anna.token) == 101)
            let plain = try await world.http.send(
                .get,
                "http://127.0.0.1:\(world.relays[0].port)/api/live",
                headers: [("Authorization", "Bearer \(anna.token)")]
            )
            #expect(plain.status == 400)
            #expect(JSON(plain.body)["code"].string == "websocket.expected")
        }
    }

    @Test(arguments: [1, 2]) func `two convoys and a circle at once, each in its own lane`(
        relays: Int
    ) async throws {
        try await RelayWorld.with(relays: relays) { world in
            let (anna, ben, cleo, dan) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo"), try await world.person("dan")
            )
            let convoy = try await world.group("convoys", anna, ben)
            let other = try await world.group("convoys", cleo, dan)
            let circle = try await world.group("circles", ben, cleo)
            let clients = try await [anna, ben, cleo, dan].asyncMap { try await world.connect($0) }
            let (a, b, c, d) = (clients[0], clients[1], clients[2], clients[3])
            for (client, group) in [
                (a, convoy), (b, convoy), (b, circle), (c, other), (c, circle), (d, other),
            ] {
                client.join(group)
                #expect(try await client.next("joined")["groupId"].string == group)
            }
            // Refused alike: a stranger's group and one that does not exist.
            for group in [other, "\(UniqueID.random())"] {
                a.join(group)
                let error = try await a.next("error")
                #expect(error.keys == ["type", "message", "groupId"])
                #expect(error["message"].string == "group not found")
            }
            a.locate(1)
            try await b.position(of: anna, at: 1)
            b.locate(2)
            try await a.position(of: ben, at: 2)
            try await c.position(of: ben, at: 2)
            c.locate(3)
            #expect(try await d.position(of: cleo, at: 3).keys == ["u", "lat", "lon", "ts", "ttl"])
            // Votes: convoy only, to who joined, invalid ones never.
            a.offer(convoy, "[{\"lat\":999,\"lon\":2}]")
            a.vote(convoy, 7)
            b.offer(circle)
            a.vote(convoy, 2)
            #expect(try await b.next("spin_vote")["index"].int == 2)
            b.offer(convoy)
            #expect(try await a.next("spin_offer")["candidates"].array.count == 2)
            for _ in 0..<4 { a.join(convoy) }
            for _ in 0..<4 { try await a.next("joined") }
            b.locate(4)
            try await a.position(of: ben, at: 4)
            try await c.position(of: ben, at: 4)
            // Everything was seen by whom it was for, once, and by nobody else.
            for client in clients { try await client.roundTrip() }
            for client in clients { #expect(client.take().isEmpty) }
        }
    }

    @Test(arguments: [1, 2])
    func `pausing, leaving and unfriending end traffic before their answer`(
        relays: Int
    ) async throws {
        try await RelayWorld.with(relays: relays) { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try await world.group("circles", anna, ben)
            let convoy = try await world.group("convoys", cleo, anna, ben)
            let (a, b, c) = (
                try await world.connect(anna), try await world.connect(ben),
                try await world.connect(cleo)
            )
            for (client, group) in [
                (a, circle), (b, circle), (a, convoy), (b, convoy), (c, convoy),
            ] {
                client.join(group)
                try await client.next("joined")
            }
            // Paused in the circle, anna is still seen in the convoy; peers hear `left` at once.
            try await anna.share(circle, false)
            let left = try await b.next("left")
            #expect(left["groupId"].string == circle)
            #expect(left["user"].id == anna.id)
            a.locate(1)
            try await b.position(of: anna, at: 1)
            try await c.position(of: anna, at: 1)
            // Out of the convoy nothing of hers is seen, and she sees nothing.
            try await anna.leave(convoy)
            for client in [b, c] {
                #expect(try await client.next("left")["groupId"].string == convoy)
            }
            a.locate(2)
            c.locate(3)
            c.vote(convoy)
            try await b.position(of: cleo, at: 3)
            try await b.next("spin_vote")
            try await a.roundTrip()
            #expect(a.take().isEmpty)
            #expect(b.take().isEmpty && c.take().isEmpty)
            // Back in the circle both see each other, as soon as the relays heard of it.
            try await anna.share(circle)
            try await eventually("anna is seen again") {
                a.locate(4)
                return b.take().contains { $0.type == "positions" }
            }
            // The end of the friendship removes ben from anna's circle; his convoy goes on.
            try await anna.unfriend(ben)
            _ = b.take()
            a.locate(5)
            b.locate(6)
            try await c.position(of: ben, at: 6)
            try await a.roundTrip()
            #expect(a.take().filter { $0.type == "positions" }.isEmpty)
            try await b.roundTrip()
            #expect(b.take().filter { $0.type == "positions" }.isEmpty)
            // Her last group ends: the socket closes.
            try await anna.leave(circle)
            #expect(try await a.close() == 1000)
            #expect(b.closeCode == nil)
        }
    }

    @Test(arguments: [1, 2]) func `arrivals, fixes over HTTP and late joiners`(
        relays: Int
    ) async throws {
        try await RelayWorld.with(relays: relays) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.group("circles", anna, ben)
            let place = try await anna.send(
                .post,
                "/api/circles/\(circle)/places",
                "{\"place\":{\"id\":1,\"name\":\"Home\",\"radiusMeters\":100}}"
            ).json["id"].string
            let b = try await world.connect(ben)
            b.join(circle)
            try await b.next("joined")
            let event =
                "{\"placeId\":\"\(try #require(place))\",\"kind\":\"arrive\",\"timestampMs\":7}"
            // The relay's subscription may still be on its way when the first is told.
            try await eventually("an arrival is seen") {
                _ = try await anna.send(.post, "/api/circles/\(circle)/events", event)
                return b.frames.contains { $0.type == "place_event" }
            }
            let frame = try await b.next("place_event")
            #expect(frame["user"].id == anna.id)
            #expect(
                [frame["placeName"].string, frame["kind"].string, frame["placeId"].string] == [
                    "Home", "arrive", place,
                ]
            )
            try await anna.postFix(1)
            #expect(try await b.position(of: anna, at: 1)["ttl"].int == 300)
            // A socket's fix is stored for those who look later.
            let a = try await world.connect(anna)
            a.locate(2)
            try await b.position(of: anna, at: 2)
            try await eventually("the fix is stored") {
                try await ben.get("/api/circles/\(circle)/positions").json["fixes"].array
                    .contains { $0["latitude"].double == 2 }
            }
            let cleo = try await world.person("cleo")
            try await anna.befriend(cleo)
            try await anna.invite(cleo, to: circle)
            let c = try await world.connect(cleo)
            // Invited and not in it: as for a group that does not exist.
            for group in [circle, "\(UniqueID.random())"] {
                c.join(group)
                #expect(try await c.next("error")["message"].string == "group not found")
            }
            try await cleo.accept(circle)
            c.join(circle)
            try await c.next("joined")
            let peer = try await c.position(of: anna, at: 2)
            #expect((1...300).contains(peer["ttl"].int ?? 0))
        }
    }

    @Test(arguments: [1, 2])
    func `the newest socket of a rider is the only one, and aborts are seen`(
        relays: Int
    ) async throws {
        try await RelayWorld.with(relays: relays) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let convoy = try await world.group("convoys", anna, ben)
            let b = try await world.connect(ben)
            b.join(convoy)
            try await b.next("joined")
            var sockets: [LiveClient] = []
            for _ in 0..<8 { sockets.append(try await world.connect(anna)) }
            for socket in sockets.dropLast() { #expect(try await socket.close() == 1000) }
            b.locate(1)
            try await sockets[7].position(of: ben, at: 1)
            #expect(sockets.dropLast().allSatisfy { $0.frames.isEmpty })
            sockets[7].join(convoy)
            try await sockets[7].next("joined")
            #expect(b.frames.isEmpty)
            sockets[7].abort()
            #expect(try await b.next("left")["user"].id == anna.id)
        }
    }

    @Test func `a restart says so`() async throws {
        let code = Mutex<LiveClient?>(nil)
        try await RelayWorld.with { world in
            let anna = try await world.person("anna")
            let client = try await world.connect(anna)
            code.withLock { $0 = client }
        }
        let client = try #require(code.withLock { $0 })
        #expect(try await client.close() == 1001)
    }
}
