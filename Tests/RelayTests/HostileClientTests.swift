import Foundation
import TestKit
import Testing
import Transit
import Web

@testable import RelayService

/// Clients that send rubbish, floods or nothing, and those that do not read.
@Suite(.serialized, .timeLimit(.minutes(5))) struct HostileClientTests {
    /// Runs with two riders of a convoy who have joined.
    private func withPair(
        uptime: ShiftedClock = ShiftedClock(),
        _ body: (RelayWorld, (anna: Traveller, ben: Traveller), (LiveClient, LiveClient), String)
            async throws -> Void
    ) async throws {
        try await RelayWorld.with(uptime: uptime) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let convoy = try await world.group("convoys", anna, ben)
            let (a, b) = (try await world.connect(anna), try await world.connect(ben))
            for client in [a, b] {
                client.join(convoy)
                try await client.next("joined")
            }
            try await body(world, (anna, ben), (a, b), convoy)
        }
    }

    @Test func `rubbish is dropped and the socket stays usable`() async throws {
        let clock = ShiftedClock()
        try await withPair(uptime: clock) { world, people, clients, convoy in
            let (a, b) = clients
            for (index, example) in (FrameReadingTests.malformed + FrameReadingTests.refused)
                .enumerated()
            {
                a.send(example.text)
                guard index % 15 == 14 else { continue }
                // The budget of well-formed frames is not what this is about.
                try await a.roundTrip()
                clock.advance(by: .seconds(1))
            }
            a.send("{\"type\":\"ptt_start\",\"groupId\":\"\(convoy)\"}")
            a.send(opcode: 2, Array("{\"type\":\"location\",\"lat\":66,\"lon\":8}".utf8))
            a.send(String(repeating: "x", count: 200_000))
            a.send(
                "{\"type\":\"location\",\"lat\":66,\"lon\":8,\"x\":\"\(String(repeating: "x", count: 32_768))\"}"
            )
            let whole = Array("{\"type\":\"location\",\"lat\":7,\"lon\":8}".utf8)
            a.send(opcode: 1, Array(whole[..<5]), fin: false)
            a.send(opcode: 9, Array("?".utf8))
            a.send(opcode: 0, Array(whole[5..<6]), fin: false)
            a.send(opcode: 0, Array(whole[6...]))
            try await b.position(of: people.anna, at: 7)
            #expect(b.take().isEmpty)
            #expect(a.take().isEmpty)
            for (reason, count) in [("binary", 1), ("oversize", 2), ("unknown_type", 1)] {
                #expect(
                    try await world.figure(
                        "relay_dropped_total{reason=\"\(reason)\"}",
                        of: world.relays[0]
                    ) == Double(count)
                )
            }
            try await eventually("no message is unfinished") {
                try await world.figure("relay_unfinished_messages_bytes", of: world.relays[0]) == 0
            }
        }
    }

    @Test func `a flood loses frames, and a second later everything works`() async throws {
        let clock = ShiftedClock()
        try await withPair(uptime: clock) { world, people, clients, convoy in
            let (a, b) = clients
            for _ in 0..<400 { a.join(convoy) }
            try await eventually("every frame is answered or counted") {
                let answered = a.frames.count { $0.type == "joined" }
                let dropped = try await world.figure(
                    "relay_dropped_total{reason=\"over_budget\"}",
                    of: world.relays[0]
                )
                return Double(answered) + dropped == 400
            }
            // What came meanwhile may go beyond forty.
            #expect((38..<200).contains(a.take().count { $0.type == "joined" }))
            clock.advance(by: .seconds(1))
            a.vote(convoy)
            try await b.next("spin_vote")
            a.locate(1)
            try await b.position(of: people.anna, at: 1)
            #expect(!a.isClosed)
        }
    }

    @Test(
        arguments: [
            ("no mask", [0x81, 1, 0x61], 1002),
            ("a reserved bit", [0xC1, 0x81, 0, 0, 0, 0, 1], 1002),
            ("no UTF-8", WebSocketBytes.frame(1, [0xC3, 0x28]), 1007),
            ("a close", WebSocketBytes.frame(8, [0x03, 0xE8]), 1000),
        ] as [(String, [UInt8], Int)]
    )
    func `who breaks the framing is told and gone`(
        what: String,
        bytes: [UInt8],
        code: Int
    ) async throws {
        try await withPair { _, people, clients, _ in
            let (a, b) = clients
            a.sendRaw(bytes)
            let told = try await a.close()
            #expect(told == code, "\(what)")
            let left = try await b.next("left")
            #expect(left["user"].id == people.anna.id)
        }
    }

    @Test func `a client that never pongs is closed, one that does is not`() async throws {
        let clock = ShiftedClock()
        try await RelayWorld.with(uptime: clock) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let silent = try await LiveClient(
                port: world.relays[0].port,
                token: anna.token,
                answersPings: false
            )
            try await silent.roundTrip()
            let lively = try await world.connect(ben)
            for count in 1...2 {
                clock.advance(by: RelayLimits.inTests.pingInterval)
                try await eventually("both are pinged") {
                    silent.pings == count && lively.pings == count
                }
                try await lively.roundTrip()
            }
            #expect(!silent.isClosed)
            clock.advance(by: RelayLimits.inTests.pingInterval)
            #expect(try await silent.close() == 4010)
            #expect(silent.pings == 2)
            try await eventually("the other is pinged on") { lively.pings == 3 }
            try await lively.roundTrip()
        }
    }

    @Test func `who says no more is gone at once, also in the middle of a message`() async throws {
        try await withPair { world, people, clients, _ in
            let (a, b) = clients
            a.sendRaw([0x01, 0xFE, 0x10])
            a.endSending()
            let left = try await b.next("left")
            #expect(left["user"].id == people.anna.id)
            try await eventually("its memory is given back") {
                let held = try await world.figure(
                    "relay_unfinished_messages_bytes",
                    of: world.relays[0]
                )
                guard held == 0 else { return false }
                return try await world.sockets() == 1
            }
        }
    }

    @Test func `a message that does not end is cut, though pings are answered`() async throws {
        let clock = ShiftedClock()
        let limits = RelayLimits.inTests
        try await withPair(uptime: clock) { world, people, clients, _ in
            let (a, b) = clients
            a.send(opcode: 1, Array("{".utf8), fin: false)
            try await a.roundTrip()
            clock.advance(by: limits.pingInterval)
            try await eventually("both are pinged") { a.pings == 1 && b.pings == 1 }
            for client in [a, b] { try await client.roundTrip() }
            #expect(!a.isClosed)
            clock.advance(by: limits.messageLimit - limits.pingInterval)
            #expect(try await a.close() == 4008)
            let left = try await b.next("left")
            #expect(left["user"].id == people.anna.id)
        }
    }

    @Test func `a reader that stops is cut, and nobody else notices`() async throws {
        let clock = ShiftedClock()
        var limits = RelayLimits.inTests
        limits.sendBufferBytes = 4096
        limits.waitingFrames = 100_000
        limits.waitingBytes = 64 << 20
        // Time runs faster than views are confirmed and pings are answered.
        limits.viewLifetime = .seconds(86_400)
        limits.missedPongs = 10_000
        try await RelayWorld.with(limits: limits, uptime: clock) { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let convoy = try await world.group("convoys", anna, ben, cleo)
            let (a, c) = (try await world.connect(anna), try await world.connect(cleo))
            let b = try await LiveClient(
                port: world.relays[0].port,
                token: ben.token,
                receiveBuffer: 4096
            )
            for client in [a, b, c] {
                client.join(convoy)
                try await client.next("joined")
            }
            b.setPaused(true)
            let name = String(repeating: "é", count: 80)
            let candidate = "{\"lat\":1,\"lon\":2,\"name\":\"\(name)\"}"
            try await eventually("the reader that stopped is cut") {
                a.offer(convoy, "[\(candidate),\(candidate),\(candidate)]")
                clock.advance(by: limits.stuckLimit / 10)
                return try await world.figure(
                    "relay_sockets_closed_total{reason=\"too_slow\"}",
                    of: world.relays[0]
                ) == 1
            }
            #expect(c.take().contains { $0.type == "spin_offer" })
            a.locate(1)
            try await c.position(of: anna, at: 1)
            b.setPaused(false)
            try await eventually("its memory is given back") {
                clock.advance(by: limits.closeLimit)
                let queued = try await world.figure(
                    "relay_queued_frames_bytes",
                    of: world.relays[0]
                )
                guard queued == 0 else { return false }
                return try await world.sockets() == 2
            }
        }
    }

    @Test func `thousands of connects and aborts leave nothing behind`() async throws {
        // Only the long form loses enough for memory to show it; sockets are counted in both.
        let count = SoakTests.isLong ? 10_000 : 2000
        try await RelayWorld.with(areProcesses: true) { world in
            let relay = world.relays[0]
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            _ = try await world.group("convoys", anna, ben)
            let (a, b) = (try await world.connect(anna), try await world.connect(ben))
            func memoryAtRest() async throws -> Double {
                try await eventually("every socket is gone") {
                    let held = try await world.figure("relay_unfinished_messages_bytes", of: relay)
                    guard held == 0 else { return false }
                    return try await world.sockets() == 2
                }
                return try await world.figure("process_resident_memory_bytes", of: relay)
            }
            var before = 0.0
            for round in 0..<10 {
                try await AbortingClients.run(count / 10, at: relay.port) {
                    world.tokens.token(.member, handle: "guest")
                }
                a.locate(Double(round))
                try await b.position(of: anna, at: Double(round))
                // The first ones pay for what every process needs once.
                if round == 1 { before = try await memoryAtRest() }
            }
            let grown = try await memoryAtRest() - before
            // A socket weighs 1.5 kB: eight thousand that leak are twice as much.
            #expect(grown < 6e6)
            for client in [a, b] {
                #expect(client.frames.allSatisfy { $0.type == "positions" })
                try await client.roundTrip()
            }
        }
    }

    @Test func `who opens sockets over and over is refused for a while, others are not`()
        async throws
    {
        let clock = ShiftedClock()
        try await RelayWorld.with(uptime: clock) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let port = world.relays[0].port
            var opened = 0
            let refusal = await #expect(throws: LiveClient.Refused.self) {
                // Each takes a moment, in which the account may open a little more.
                while opened < 200 {
                    _ = try await LiveClient(port: port, token: anna.token)
                    opened += 1
                }
            }
            #expect(refusal?.status == 429)
            #expect(opened >= Int(RelayLimits.openingBurst))
            _ = try await LiveClient(port: port, token: ben.token)
            #expect(
                try await world.figure("relay_openings_refused_total", of: world.relays[0]) == 1
            )
            clock.advance(by: .seconds(1))
            _ = try await world.connect(anna)
        }
    }

    @Test func `beyond its limit a relay takes no more`() async throws {
        try await RelayWorld.with(settings: ["RELAY_SOCKETS": "2"]) { world in
            let people = try await ["anna", "ben", "cleo"].asyncMap { try await world.person($0) }
            _ = try await world.connect(people[0])
            let second = try await world.connect(people[1])
            do {
                _ = try await LiveClient(port: world.relays[0].port, token: people[2].token)
                Issue.record("a third socket was taken")
            } catch let refusal as LiveClient.Refused {
                #expect(refusal.status == 503)
            }
            second.abort()
            try await eventually("there is room again") {
                (try? await world.connect(people[2])) != nil
            }
        }
    }
}
