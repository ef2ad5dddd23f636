import Foundation
import Telemetry
import Testing

@testable import Operations

/// Real children, run by `sh`; each test has a thread of its own, as `up` has.
@Suite(.timeLimit(.minutes(1))) struct SupervisorTests {
    private let folder: OwnFolder

    init() throws { folder = try OwnFolder() }

    @Test func `starts a part again, each time after a longer pause`() async throws {
        let folder = folder
        let failure = try await onOneThread {
            let supervisor = Supervisor(logger: .silent)
            try supervisor.add(Self.part("date +%s%N >> starts; exit 3", in: folder))
            try Self.tick(supervisor) { folder.lines("starts").count == 4 }
            defer { supervisor.stop() }
            return supervisor.failures["part"].map { [Int($0.code), $0.count] }
        }
        #expect(failure == [3, 3])
        let starts = folder.lines("starts").compactMap { Double($0) }.map { $0 / 1e9 }
        for (index, least) in [0.1, 0.2, 0.4].enumerated() {
            #expect(starts[index + 1] - starts[index] >= least)
        }
    }

    @Test func `leaves a part alone that runs`() async throws {
        let folder = folder
        try await onOneThread {
            let supervisor = Supervisor(logger: .silent)
            defer { supervisor.stop() }
            try supervisor.add(Self.part("echo start >> starts; exec sleep 1000", in: folder))
            try Self.tick(supervisor) { folder.lines("starts").count == 1 }
            for _ in 0..<20 { supervisor.tick() }
            #expect(supervisor.failures.isEmpty)
            #expect(folder.lines("starts").count == 1)
        }
    }

    @Test func `stops riders, then the gateway, then the services`() async throws {
        let folder = folder
        try await onOneThread {
            let supervisor = Supervisor(logger: .silent)
            let stages: [ManagedProgram.Stage] = [.gateway, .services, .riders, .services]
            for stage in stages {
                let script = """
                    trap 'echo \(stage) >> order; exit 0' TERM
                    echo ready >> ready
                    while :; do sleep 0.02; done
                    """
                try supervisor.add(Self.part(script, stage, in: folder))
            }
            try Self.tick(supervisor) { folder.lines("ready").count == stages.count }
            supervisor.stop()
        }
        #expect(folder.lines("order") == ["riders", "gateway", "services", "services"])
    }

    @Test func `kills what does not stop within its deadline`() async throws {
        let folder = folder
        let seconds = try await onOneThread {
            let supervisor = Supervisor(logger: .silent, stopDeadline: 0.3)
            let script = "trap '' TERM; echo $$ >> ready; while :; do sleep 0.02; done"
            try supervisor.add(Self.part(script, in: folder))
            try Self.tick(supervisor) { folder.lines("ready").count == 1 }
            let start = Supervisor.monotonicSeconds()
            supervisor.stop()
            return Supervisor.monotonicSeconds() - start
        }
        #expect(seconds >= 0.3)
        let id = try #require(folder.lines("ready").first.flatMap { Int32($0) })
        #expect(kill(id, 0) == -1)
    }

    @Test func `starts nothing again once it stops`() async throws {
        let folder = folder
        try await onOneThread {
            let supervisor = Supervisor(logger: .silent)
            try supervisor.add(Self.part("echo start >> starts", in: folder))
            try Self.tick(supervisor) { supervisor.failures["part"] != nil }
            supervisor.stop()
            let later = Supervisor.monotonicSeconds() + 0.3
            while Supervisor.monotonicSeconds() < later { supervisor.tick() }
        }
        #expect(folder.lines("starts").count == 1)
    }

    @Test func `bounds the log of a part that runs`() async throws {
        let folder = folder
        try await onOneThread {
            let supervisor = Supervisor(logger: .silent, logLimit: 1000)
            defer { supervisor.stop() }
            let script = "yes | head -c 2000; exec sleep 1000"
            try supervisor.add(Self.part(script, in: folder))
            try Self.tick(supervisor) { !folder.lines("part.log.1").isEmpty }
        }
        #expect(folder.lines("part.log.1").count + folder.lines("part.log").count == 1000)
    }

    // MARK: - Surroundings

    private static func part(
        _ script: String,
        _ stage: ManagedProgram.Stage = .services,
        in folder: OwnFolder
    ) -> ManagedProgram {
        ManagedProgram(
            name: "part",
            executable: "/bin/sh",
            arguments: ["-c", "cd \(folder.path)\n" + script],
            environment: ["PATH": "/usr/bin:/bin"],
            logPath: folder.path + "/part.log",
            stage: stage
        )
    }

    private struct TooLate: Error {}

    /// Lets the supervisor work until something of a child is so.
    private static func tick(_ supervisor: Supervisor, until condition: () -> Bool) throws {
        let deadline = Supervisor.monotonicSeconds() + 30
        while !condition() {
            guard Supervisor.monotonicSeconds() < deadline else { throw TooLate() }
            supervisor.tick()
            usleep(5000)
        }
    }
}

@Suite struct RestartPolicyTests {
    @Test func `waits longer after each short life, up to a limit`() {
        var policy = RestartPolicy()
        var delays: [Double] = []
        for _ in 0..<9 {
            policy.started(at: 100)
            delays.append(policy.ended(at: 100) - 100)
        }
        for (delay, expected) in zip(delays, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]) {
            #expect(abs(delay - expected) < 1e-9)
        }
    }

    @Test(arguments: [(9.9, 3), (10.0, 1), (86_400, 1)])
    func `forgets short lives after a healthy one`(life: Double, shortLives: Int) {
        var policy = RestartPolicy()
        for _ in 0..<2 {
            policy.started(at: 0)
            _ = policy.ended(at: 0)
        }
        policy.started(at: 0)
        _ = policy.ended(at: life)
        #expect(policy.shortLives == shortLives)
    }
}
