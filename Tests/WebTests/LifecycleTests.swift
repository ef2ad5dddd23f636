import Synchronization
import TestKit
import Testing

@testable import Web

/// Lines that a logger wrote.
final class LineCollector: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func append(_ line: String) { lines.withLock { $0.append(line) } }
}

/// A door that handlers wait at until a test opens it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var arrivals = 0
        var arrivalWaiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Waits until the door opens.
    func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, arrived) = state.withLock { state in
                state.arrivals += 1
                let arrived = state.arrivalWaiters.filter { $0.count <= state.arrivals }
                state.arrivalWaiters.removeAll { $0.count <= state.arrivals }
                if !state.isOpen { state.waiting.append(continuation) }
                return (state.isOpen, arrived)
            }
            for waiter in arrived { waiter.continuation.resume() }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until so many have come to the door.
    func arrivals(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.arrivals >= count { return true }
                state.arrivalWaiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct LifecycleTests {
    private let gate = Gate()
    private let cancelled = Gate()

    private var endpoints: [Endpoint] {
        [
            Endpoint(
                .get,
                "/wait",
                access: .anyone,
                handler: { [gate, cancelled] _ in
                    await withTaskCancellationHandler {
                        await gate.pass()
                    } onCancel: {
                        cancelled.open()
                    }
                    return .text("done")
                }
            ),
            Endpoint(.get, "/ping", access: .anyone, inline: { _ in .text("pong") }),
        ]
    }

    @Test func `answers at the deadline and cancels the handler`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.requestDeadline = .milliseconds(200)
        try await withServer(endpoints, configuration) { port, _ in
            let socket = try await RawSocket(port: port)
            try await socket.send(get("/wait"))
            let response = try await socket.response()
            #expect(response.status == 503)
            #expect(response.headers.first("Retry-After") == "1")
            await cancelled.pass()
            gate.open()
            // The late answer of the handler is dropped, and the connection goes on.
            try await socket.send(get("/ping"))
            #expect(try await socket.response().body == "pong")
        }
    }

    @Test func `refuses more waiting requests than it admits`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.maximumWaitingRequests = 2
        try await withServer(endpoints, configuration) { port, _ in
            let first = try await RawSocket(port: port)
            let second = try await RawSocket(port: port)
            try await first.send(get("/wait"))
            try await second.send(get("/wait"))
            await gate.arrivals(2)
            let third = try await fetch(port, get("/wait"))
            #expect(third.status == 503)
            #expect(third.headers.first("Retry-After") == "1")
            #expect(try await fetch(port, get("/ping")).body == "pong")
            gate.open()
            #expect(try await first.response().body == "done")
            #expect(try await second.response().body == "done")
        }
    }

    @Test func `answers 503 on surplus connections`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.maximumConnections = 2
        try await withServer(endpoints, configuration) { port, _ in
            let first = try await RawSocket(port: port)
            try await first.send(get("/ping"))
            #expect(try await first.response().status == 200)
            let second = try await RawSocket(port: port)
            try await second.send(get("/ping"))
            #expect(try await second.response().status == 200)
            let third = try await RawSocket(port: port)
            try await third.send(get("/ping"))
            #expect(try await third.response().status == 503)
            #expect(try await third.isClosedByPeer())
        }
    }

    @Test func `drains what is in flight`() async throws {
        let server = try HTTPServer(endpoints: endpoints)
        let port = try server.start()
        let socket = try await RawSocket(port: port)
        try await socket.send(get("/wait"))
        await gate.arrivals(1)
        async let stopped: Void = server.shutdown(within: .seconds(30))
        // New callers are refused while the old one still waits for its answer.
        while (try? await RawSocket(port: port)) != nil { await Task.yield() }
        gate.open()
        let response = try await socket.response()
        #expect(response.body == "done")
        #expect(response.headers.first("Connection") == "close")
        await stopped
        await server.shutdown(within: .zero)
    }

    @Test func `stops as soon as it has started, again and again`() async throws {
        for _ in 0..<200 {
            let server = try HTTPServer(endpoints: endpoints)
            try server.start()
            await server.shutdown(within: .zero)
        }
    }

    @Test func `stops while it takes no more connections`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.maximumConnections = 1
        let server = try HTTPServer(endpoints: endpoints, configuration: configuration)
        let port = try server.start()
        var callers: [RawSocket] = []
        // The admitted one, those that get a 503, and some that wait in the kernel.
        for _ in 0..<80 { callers.append(try await RawSocket(port: port)) }
        await server.shutdown(within: .zero)
        for caller in callers { #expect(try await caller.isClosedByPeer()) }
    }

    @Test func `answers the rest when the time to drain is over`() async throws {
        let server = try HTTPServer(endpoints: endpoints)
        let port = try server.start()
        var sockets: [RawSocket] = []
        for _ in 0..<20 {
            let socket = try await RawSocket(port: port)
            try await socket.send(get("/wait"))
            sockets.append(socket)
        }
        await gate.arrivals(20)
        await server.shutdown(within: .zero)
        for socket in sockets { #expect(try await socket.response().status == 503) }
        await cancelled.pass()
        gate.open()
    }

    @Test(arguments: 0..<5)
    func `stops under load without losing an answer`(round: Int) async throws {
        gate.open()
        let server = try HTTPServer(endpoints: endpoints)
        let port = try server.start()
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    guard let socket = try? await RawSocket(port: port) else { return 0 }
                    var answered = 0
                    while true {
                        guard (try? await socket.send(get("/wait"))) != nil,
                            let response = try? await socket.response()
                        else { return answered }
                        #expect(response.body == "done")
                        answered += 1
                        if response.headers.first("Connection") == "close" { return answered }
                    }
                }
            }
            await gate.arrivals(50)
            await server.shutdown(within: .seconds(5))
            let answered = await group.reduce(0, +)
            #expect(answered >= 40)
        }
    }

    @Test func `hands an upgraded socket over`() async throws {
        let (sockets, continuation) = AsyncStream<UpgradedSocket>.makeStream()
        let upgrade = Endpoint(
            upgrading: "/live",
            access: .anyone,
            upgrade: { request in
                guard request.headers.first("Upgrade") == "echo" else {
                    throw HTTPError(status: 426, code: "upgrade", message: "upgrade required")
                }
                return UpgradeAnswer(headers: [("Upgrade", "echo")]) { continuation.yield($0) }
            }
        )
        try await withServer([upgrade]) { port, _ in
            #expect(try await fetch(port, get("/live")).status == 426)
            let client = try await RawSocket(port: port)
            try await client.send(
                "GET /live HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly"
            )
            let response = try await client.response(hasBody: false)
            #expect(response.status == 101)
            #expect(response.headers.first("Upgrade") == "echo")
            var iterator = sockets.makeAsyncIterator()
            let socket = try #require(await iterator.next())
            let server = RawSocket(adopting: socket.descriptor)
            let early = String(decoding: socket.receivedBytes, as: UTF8.self)
            #expect(early.isEmpty || early == "early")
            if early.isEmpty { #expect(try await server.bytes(5) == Array("early".utf8)) }
            for round in 0..<50 {
                try await client.send("ping \(round % 10)")
                let heard = try await server.bytes(6)
                try await server.send(heard + [UInt8(ascii: "!")])
                #expect(try await client.bytes(7) == Array("ping \(round % 10)!".utf8))
            }
        }
    }
}
