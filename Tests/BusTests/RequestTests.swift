import Synchronization
import Telemetry
import TestKit
import Testing

@testable import Bus

@Suite(.timeLimit(.minutes(1)))
struct RequestTests {
    @Test(arguments: Network.allCases, [0, 1, 64 << 10, 5 << 20, 16 << 20])
    func `carries a body there and back`(network: Network, bytes: Int) async throws {
        let fleet = try Fleet(network)
        _ = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        // Only the first and last bytes differ: a loop over 16 MB would keep other tests waiting.
        var body = [UInt8](repeating: 0x5A, count: bytes)
        for index in 0..<min(1000, bytes) {
            body[index] = UInt8(truncatingIfNeeded: index &* 31)
            body[bytes - 1 - index] = UInt8(truncatingIfNeeded: index &* 17)
        }
        let answer = try await bus.request(body, to: "peer-1", timeout: .seconds(20))
        #expect(answer == body)
        await bus.shutdown()
    }

    @Test(arguments: [(100, true), (101, false)])
    func `refuses a body above the limit`(bytes: Int, isTaken: Bool) async throws {
        let fleet = try Fleet(.ipc)
        _ = try await fleet.peer()
        var limits = BusLimits()
        limits.messageBytes = 100
        let bus = try await fleet.bus(limits: limits, knowing: "peer-1")
        let body = [UInt8](repeating: 1, count: bytes)
        do {
            let answer = try await bus.request(body, to: "peer-1", timeout: .seconds(10))
            #expect(isTaken && answer == body)
        } catch {
            #expect(!isTaken && error == .tooLarge(bytes: 101, limit: 100))
        }
        await bus.shutdown()
    }

    @Test func `tells the handler the trace and who asks`() async throws {
        let fleet = try Fleet(.ipc)
        _ = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        let trace = TraceID.random()
        let answer = try await bus.request(
            Array("trace".utf8),
            to: "peer-1",
            timeout: .seconds(10),
            trace: trace
        )
        #expect(String(decoding: answer, as: UTF8.self) == "\(trace) tester")
        await bus.shutdown()
    }

    @Test(arguments: Network.allCases)
    func `answers many requests at once, each with its own answer`(network: Network) async throws {
        let fleet = try Fleet(network)
        _ = try await fleet.peer()
        let bus = try await fleet.bus(knowing: "peer-1")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<500 {
                group.addTask {
                    let answer = try await bus.ask("echo \(index)")
                    #expect(answer == "echo \(index)")
                }
            }
            try await group.waitForAll()
        }
        await bus.shutdown()
    }

    @Test func `refuses at once what towards an instance is too much`() async throws {
        let fleet = try Fleet(.ipc)
        _ = try await fleet.peer()
        var limits = BusLimits()
        limits.windowRequests = 3
        limits.windowBytes = 1000
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, limits: limits, knowing: "peer-1")
        let large = [UInt8](repeating: 1, count: 1001)
        await #expect(throws: BusError.full("peer-1")) {
            try await bus.request(large, to: "peer-1", timeout: .seconds(10))
        }
        let holding = (0..<3).map { _ in Task { try await bus.ask("hold") } }
        try await eventually("the window is full") {
            metrics.value("bus_requests_sent_total") == 3
        }
        await #expect(throws: BusError.full("peer-1")) { try await bus.ask("echo") }
        holding[0].cancel()
        await #expect(throws: BusError.cancelled) { try await holding[0].value }
        #expect(try await bus.ask("echo") == "echo")
        _ = try await bus.ask("release")
        for task in holding.dropFirst() { #expect(try await task.value == "hold") }
        #expect(metrics.value(#"bus_requests_failed_total{reason="full"}"#) == 2)
        await bus.shutdown()
    }

    @Test func `is refused as busy when handlers and queue are taken`() async throws {
        let fleet = try Fleet(.ipc)
        _ = try await fleet.peer("peer-1", "running=1", "queued=1")
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, knowing: "peer-1")
        let holding = Task { try await bus.ask("hold", timeout: .seconds(2)) }
        try await eventually("it is sent") { metrics.value("bus_requests_sent_total") == 1 }
        let waiting = Task { try await bus.ask("echo", timeout: .seconds(2)) }
        try await eventually("it is sent") { metrics.value("bus_requests_sent_total") == 2 }
        await #expect(throws: BusError.busy("peer-1")) { try await bus.ask("echo") }
        await #expect(throws: BusError.timeout("peer-1")) { try await holding.value }
        await #expect(throws: BusError.timeout("peer-1")) { try await waiting.value }
        await bus.shutdown()
    }

    @Test func `says which instance it does not know`() async throws {
        let fleet = try Fleet(.ipc)
        let bus = try await fleet.bus()
        await #expect(throws: BusError.unknownInstance("peer-9")) {
            try await bus.ask("echo", of: "peer-9")
        }
        await bus.shutdown()
    }

    @Test func `reports an instance that was never reached as unreachable`() async throws {
        let fleet = try Fleet(.ipc)
        fleet.directory.set(
            InstanceRecord(
                service: "peer",
                instance: "peer-1",
                requestEndpoint: "ipc://\(fleet.folder)/nobody.req",
                publishEndpoint: "ipc://\(fleet.folder)/nobody.pub"
            )
        )
        let bus = try await fleet.bus(knowing: "peer-1")
        await #expect(throws: BusError.unreachable("peer-1")) {
            try await bus.ask("echo", timeout: .milliseconds(300))
        }
        await bus.shutdown()
    }

    @Test func `asks an instance from inside a handler`() async throws {
        let fleet = try Fleet(.ipc)
        let first = try await fleet.peer()
        _ = first
        let peers =
            "peers=peer=peer-1@ipc://\(fleet.folder)/peer-1.req|ipc://\(fleet.folder)/peer-1.pub"
        _ = try await fleet.peer("peer-2", peers)
        let bus = try await fleet.bus(knowing: "peer-1", "peer-2")
        try await eventually("peer-2 knows peer-1") {
            try await bus.ask("ask peer-1", of: "peer-2") == "0"
        }
        await bus.shutdown()
    }
}
