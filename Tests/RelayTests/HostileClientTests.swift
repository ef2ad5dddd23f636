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
        limits: RelayLimits = .inTests,
        _ body: (RelayWorld, (anna: Traveller, ben: Traveller), (LiveClient, LiveClient), String)
            async throws -> Void
    ) async throws {
        try await RelayWorld.with(limits: limits) { world in
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
        try await withPair { world, people, clients, convoy in
            let (a, b) = clients
            for (index, example) in (FrameReadingTests.malformed + FrameReadingTests.refused)
                .enumerated()
            {
                a.send(example.text)
                // The budget of well-formed frames is not what this is about.
                if index % 15 == 14 { try await Task.sleep(for: .milliseconds(300)) }
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
            #expect(
                try await world.figure("relay_unfinished_messages_bytes", of: world.relays[0]) == 0
            )
        }
    }

    @Test func `a flood loses frames, and a second later everything works`() async throws {
        try await withPair { _, people, clients, convoy in
            let (a, b) = clients
            for _ in 0..<400 { a.join(convoy) }
            a.send("[]")
            try await Task.sleep(for: .seconds(1))
            let answered = a.take().count { $0.type == "joined" }
            #expect((1..<200).contains(answered))
            try await eventually("a vote comes through") {
                a.vote(convoy)
                try await Task.sleep(for: .milliseconds(60))
                return b.take().contains { $0.type == "spin_vote" }
            }
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
        var limits = RelayLimits.inTests
        limits.pingInterval = .milliseconds(150)
        try await RelayWorld.with(limits: limits) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let silent = try await LiveClient(
                port: world.relays[0].port,
                token: anna.token,
                answersPings: false
            )
            let lively = try await world.connect(ben)
            #expect(try await silent.close() == 4010)
            #expect(silent.pings == 2)
            try await eventually("several pings") { lively.pings > 4 }
            #expect(!lively.isClosed)
        }
    }

    @Test func `a reader that stops is cut, and nobody else notices`() async throws {
        var limits = RelayLimits.inTests
        limits.stuckLimit = .milliseconds(500)
        limits.sendBufferBytes = 4096
        limits.waitingFrames = 100_000
        limits.waitingBytes = 64 << 20
        try await RelayWorld.with(limits: limits) { world in
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
                try await Task.sleep(for: .milliseconds(50))
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
                let queued = try await world.figure(
                    "relay_queued_frames_bytes",
                    of: world.relays[0]
                )
                guard queued == 0 else { return false }
                return try await world.sockets() == 2
            }
        }
    }

    @Test func `a thousand connects and aborts leave nothing behind`() async throws {
        try await RelayWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            _ = try await world.group("convoys", anna, ben)
            let (a, b) = (try await world.connect(anna), try await world.connect(ben))
            let before = try await world.figure(
                "process_resident_memory_bytes",
                of: world.relays[0]
            )
            for round in 0..<10 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<100 {
                        group.addTask {
                            let token = world.tokens.token(.member, handle: "guest")
                            let client = try await LiveClient(
                                port: world.relays[0].port,
                                token: token
                            )
                            // Some leave before they are let in, some in the middle of a frame.
                            if index % 3 == 0 { client.sendRaw([0x81, 0xFE, 0x10]) }
                            client.abort()
                        }
                    }
                    try await group.waitForAll()
                }
                a.locate(Double(round))
                try await b.position(of: anna, at: Double(round))
            }
            try await eventually("every socket is gone") {
                let held = try await world.figure(
                    "relay_unfinished_messages_bytes",
                    of: world.relays[0]
                )
                guard held == 0 else { return false }
                return try await world.sockets() == 2
            }
            let after = try await world.figure("process_resident_memory_bytes", of: world.relays[0])
            // The tests themselves live in this process; 64 MB would be a leak of sockets all the same.
            #expect(after - before < 64e6)
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
