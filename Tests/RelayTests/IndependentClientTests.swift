import Foundation
import TestKit
import Testing
import Transit

@testable import RelayService

/// The protocol seen by PyPI's websockets, which shares no code with us.
@Suite(.serialized, .timeLimit(.minutes(2))) struct IndependentClientTests {
    @Test func `an independent client joins, sees, votes and leaves`() async throws {
        try await RelayWorld.with(relays: 2) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let convoy = try await world.group("convoys", anna, ben)
            let python = try PythonClient()
            defer { python.stop() }
            for token in ["", "nonsense"] {
                #expect(
                    try await python.call("open", "x", "\(world.relays[0].port)", token)["status"]
                        .int == 401
                )
            }
            for (index, person) in [anna, ben].enumerated() {
                let port = world.relays[index].port
                #expect(
                    try await python.call("open", person.handle, "\(port)", person.token)["status"]
                        .int == 101
                )
                _ = try await python.call(
                    "send",
                    person.handle,
                    "{\"type\":\"join\",\"groupId\":\"\(convoy)\"}"
                )
                let joined = try await python.call("receive", person.handle, "1")["frames"].array
                #expect(joined.map(\.type) == ["joined"])
            }
            for relay in world.relays {
                try await eventually("the relays know of both") {
                    try await world.figure("relay_remote_riders_items", of: relay) == 1
                }
            }
            _ = try await python.call(
                "fragments",
                "anna",
                "{\"type\":\"loc",
                "ation\",\"lat\":1",
                ",\"lon\":2}"
            )
            let fix = try await python.call("receive", "ben", "1")["frames"].array.first
            #expect(fix?["peers"].array.first?["u"].id == anna.id)
            _ = try await python.call("binary", "ben", "00ff")
            _ = try await python.call(
                "send",
                "ben",
                "{\"type\":\"spin_vote\",\"groupId\":\"\(convoy)\",\"index\":2}"
            )
            let vote = try await python.call("receive", "anna", "1")["frames"].array.first
            #expect([vote?.type, vote?["user"].string] == ["spin_vote", "\(ben.id)"])
            #expect(try await python.call("ping", "anna")["pong"] == JSON("true"))
            #expect(try await python.call("close", "anna")["code"].int == 1000)
            let left = try await python.call("receive", "ben", "1")["frames"].array.first
            #expect([left?.type, left?["groupId"].string] == ["left", convoy])
            try await ben.leave(convoy)
            #expect(try await python.call("receive", "ben", "1")["code"].int == 1000)
        }
    }
}

/// A Python process that is told what to do line by line.
private final class PythonClient: Sendable {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init() throws {
        process.executableURL = URL(fileURLWithPath: ProjectPaths.root + "/.venv/bin/python")
        process.arguments = [ProjectPaths.root + "/Tests/RelayTests/live_client.py"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    func stop() { process.terminate() }

    func call(_ command: String, _ arguments: String...) async throws -> JSON {
        var parts: [String] = []
        for (index, text) in ([command] + arguments).enumerated() {
            let quoted = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
            // Ports and counts are numbers there.
            let isNumber = index == 2 && (command == "open" || command == "receive")
            parts.append(isNumber ? text : quoted)
        }
        if command == "fragments" {
            parts = Array(parts[..<2]) + ["[" + parts[2...].joined(separator: ",") + "]"]
        }
        let line = Data(("[" + parts.joined(separator: ",") + "]\n").utf8)
        let (input, output) = (input.fileHandleForWriting, output.fileHandleForReading)
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                do {
                    try input.write(contentsOf: line)
                    var answer = Data()
                    while answer.last != 0x0A, let byte = try output.read(upToCount: 1),
                        !byte.isEmpty
                    {
                        answer += byte
                    }
                    continuation.resume(returning: JSON(Array(answer)))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }
}
