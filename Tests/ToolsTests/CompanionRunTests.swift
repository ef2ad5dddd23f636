import CompanionKit
import FoundationEssentials
import Synchronization
import TestKit
import Testing

@testable import CompanionTool

/// The commands against a server that the test plays: auth and groups over HTTP, and a relay.
@Suite(.timeLimit(.minutes(3))) struct CompanionRunTests {
    let server = SmallCompanionServer()

    func run(_ words: String...) async -> Int32 {
        await CompanionProgram.run(
            arguments: ["companion"] + words + ["-handle", "ann"],
            in: server.surroundings
        )
    }

    @Test func `makes a circle, befriends, invites and switches sharing on`() async {
        let code = await run(
            "join",
            "Family",
            "-kind",
            "circle",
            "-befriend",
            "bob",
            "-invite",
            "bob",
            "-sharing",
            "on",
            "-sign-up"
        )
        #expect(code == 0)
        #expect(
            server.lines == [
                "bob is your friend", "in circle Family \(SmallCompanionServer.group)",
                "bob is invited", "sharing is on",
            ]
        )
        #expect(server.paths.first == "POST /api/v1/auth/register")
    }

    @Test func `accepts an invitation`() async {
        server.know("Ride", .convoy, "invited")
        #expect(await run("join", "Ride") == 0)
        #expect(
            server.paths.contains(
                "POST /api/groups/\(SmallCompanionServer.group)/invitations/respond"
            )
        )
    }

    @Test func `shares over the relay, votes and watches`() async {
        server.know("Ride", .convoy, "accepted")
        #expect(await run("share", "Ride", "-at", "46,14.5", "-for", "8s") == 0)
        #expect(server.lines.last == "sent 46.00000,14.50000")
        #expect(server.sent.prefix(2).map { $0.contains("location") } == [false, true])
        #expect(await run("vote", "Ride", "1", "-offer", "46,14,Lake", "-offer", "47,15") == 0)
        #expect(server.lines.last == "decided: Lake 46.00000,14.00000")
        server.say(
            #"{"type":"positions","peers":[{"u":"\#(SmallCompanionServer.bob)","#
                + #""lat":46.05,"lon":-0.5,"s":36,"ts":1,"ttl":20}]}"#
        )
        #expect(await run("watch", "Ride", "-for", "5s") == 0)
        #expect(server.lines.contains("connected"))
        #expect(server.lines.contains("bob 46.05000,-0.50000 36 km/h"))
    }

    @Test func `goes only when the relay has handled the vote`() async throws {
        server.know("Ride", .convoy, "accepted")
        server.holdBallots()
        async let code = run("vote", "Ride", "1", "-offer", "46,14,Lake", "-offer", "47,15")
        // The join of the beginning, two offers and the vote, and the join that waits behind them.
        try await eventually("the vote is at the relay") {
            server.sent.filter { $0.contains("\"join\"") }.count == 2
        }
        #expect(server.handled.count == 1)
        #expect(!server.lines.contains { $0.hasPrefix("decided") })
        server.letBallotsGo()
        #expect(await code == 0)
        #expect(server.lines.last == "decided: Lake 46.00000,14.00000")
        #expect(server.handled.count == 5)
        #expect(server.handled.filter { $0.contains("spin_offer") }.count == 2)
    }

    @Test func `says so when the relay goes before it has handled the vote`() async throws {
        server.know("Ride", .convoy, "accepted")
        server.holdBallots()
        async let code = run("vote", "Ride", "1", "-offer", "46,14,Lake", "-offer", "47,15")
        try await eventually("the vote is at the relay") {
            server.sent.filter { $0.contains("\"join\"") }.count == 2
        }
        server.closeConnections()
        #expect(await code == 1)
        #expect(server.lines.last == "companion: the relay did not say that it told the others")
    }

    @Test func `tells a position once over HTTP`() async {
        server.know("Ride", .convoy, "accepted")
        #expect(await run("share", "Ride", "-at", "46,14.5", "-once") == 0)
        #expect(server.paths.last == "POST /api/me/fix")
    }

    @Test func `ends with 1 when the server refuses, with 2 for a senseless command`() async {
        #expect(await run("watch", "Ride") == 1)
        #expect(server.lines.last == "companion: you are in no convoy Ride; join it first")
        server.know("Ride", .convoy, "accepted")
        #expect(await run("vote", "Ride", "1", "-for", "1s") == 1)
        #expect(server.lines.last == "companion: nothing was decided in time")
        server.refuseLogIn()
        #expect(await run("watch", "Ride") == 1)
        #expect(server.lines.last == "companion: invalid email or password")
        #expect(await run("dance") == 2)
    }

    @Test func `helps`() async {
        let code = await CompanionProgram.run(
            arguments: ["companion", "--help"],
            in: server.surroundings
        )
        #expect(code == 0)
        #expect(server.lines.joined().contains("companion vote GROUP [N]"))
    }
}

/// Auth, groups and relay for one person, as small as the tool needs them.
final class SmallCompanionServer: CompanionTransport, RelaySocket {
    static let group = "00000000-0000-4000-8000-0000000000d1"
    static let ann = "00000000-0000-4000-8000-00000000000a"
    static let bob = "00000000-0000-4000-8000-00000000000b"

    private struct State {
        var lines: [String] = []
        var paths: [String] = []
        var sent: [String] = []
        var handled: [String] = []
        var holdsBallots = false
        /// What waits behind a ballot, in the order in which it came.
        var waiting: [(connection: Connection, frame: String)] = []
        var groups: [String: String] = [:]
        var greeting: [String] = []
        var refusesLogIn = false
    }

    private let state = Mutex(State())

    var lines: [String] { state.withLock { $0.lines } }
    var paths: [String] { state.withLock { $0.paths } }
    /// Frames of phones, the joins of each connection first.
    var sent: [String] { state.withLock { $0.sent } }
    /// Those of them that the relay has looked at; what waits goes with its connection.
    var handled: [String] { state.withLock { $0.handled } }

    var surroundings: CompanionProgram.Surroundings {
        CompanionProgram.Surroundings(
            transport: self,
            socket: { _ in self },
            clock: SystemCompanionClock(),
            password: "secret",
            say: { line in self.state.withLock { $0.lines.append(line) } }
        )
    }

    /// The person has a group, as member or invited.
    func know(_ name: String, _ kind: GroupKind, _ status: String) {
        state.withLock { $0.groups[kind.rawValue] = Self.group(name, kind.rawValue, status) }
    }

    /// Whoever joins from now on hears this.
    func say(_ frame: String) { state.withLock { $0.greeting.append(frame) } }

    /// Ballots wait, and everything behind them, as while groups is asked.
    func holdBallots() { state.withLock { $0.holdsBallots = true } }

    func letBallotsGo() {
        let waiting = state.withLock { state in
            state.holdsBallots = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for (connection, frame) in waiting { handle(frame, from: connection) }
    }

    func closeConnections() {
        for (connection, _) in state.withLock({ $0.waiting }) { connection.inbox.finish() }
    }

    func refuseLogIn() { state.withLock { $0.refusesLogIn = true } }

    private static func group(_ name: String, _ kind: String, _ status: String) -> String {
        """
        {"id":"\(group)","kind":"\(kind)","name":"\(name)","ownerId":null,"status":"\(status)",
        "members":[{"id":"\(ann)","username":"ann","status":"\(status)","sharing":null},
        {"id":"\(bob)","username":"bob","status":"accepted","sharing":null}]}
        """
    }

    // MARK: - HTTP

    func send(_ request: CompanionRequest, serverURL: URL) async throws -> CompanionResponse {
        state.withLock { state in
            state.paths.append("\(request.method) \(request.path)")
            let (status, body) = Self.answer(request, state)
            return CompanionResponse(status: status, body: Data(body.utf8))
        }
    }

    private static func answer(_ request: CompanionRequest, _ state: State) -> (Int, String) {
        switch (request.method, request.path) {
        case (_, "/api/v1/auth/login") where state.refusesLogIn:
            (401, #"{"error":"invalid email or password","code":"login.refused"}"#)
        case (_, "/api/v1/auth/login"), (_, "/api/v1/auth/register"):
            (
                200,
                """
                {"access_token":"a","refresh_token":"r","expires_in":900,"account_id":"\(ann)"}
                """
            )
        case ("GET", "/api/circles"): (200, "[\(state.groups["circle"] ?? "")]")
        case ("GET", "/api/convoys"): (200, "[\(state.groups["convoy"] ?? "")]")
        case ("POST", "/api/circles"): (201, group("Family", "circle", "accepted"))
        case ("POST", "/api/friends/requests"): (200, #"{"status":"accepted"}"#)
        case ("POST", "/api/groups/\(group)/invitations"): (200, #"{"status":"invited"}"#)
        case ("POST", "/api/groups/\(group)/invitations/respond"):
            (200, #"{"status":"accepted"}"#)
        case ("PUT", "/api/circles/\(group)/sharing"): (200, #"{"sharing":true}"#)
        case ("POST", "/api/me/fix"): (204, "")
        default: (404, #"{"error":"not found","code":"request.not_found"}"#)
        }
    }

    // MARK: - Relay

    func open(bearer: String) async throws -> any RelayConnection {
        let (frames, inbox) = AsyncStream.makeStream(of: String.self)
        return Connection(server: self, frames: frames, inbox: inbox)
    }

    private func take(_ frame: String, from connection: Connection) {
        let waits = state.withLock { state in
            state.sent.append(frame)
            let waits = state.holdsBallots && (!state.waiting.isEmpty || frame.contains("spin_"))
            if waits { state.waiting.append((connection, frame)) }
            return waits
        }
        if !waits { handle(frame, from: connection) }
    }

    private func handle(_ frame: String, from connection: Connection) {
        let answers = state.withLock { state in
            state.handled.append(frame)
            guard frame.contains("\"join\"") else { return [String]() }
            return [#"{"type":"joined","groupId":"\#(Self.group)"}"#] + state.greeting
        }
        for answer in answers { connection.inbox.yield(answer) }
    }

    /// The connection is closed: what waits of it is never looked at.
    private func forgetWaiting() { state.withLock { $0.waiting = [] } }

    private struct Connection: RelayConnection {
        let server: SmallCompanionServer
        let frames: AsyncStream<String>
        let inbox: AsyncStream<String>.Continuation

        func send(_ text: String) async throws { server.take(text, from: self) }

        func receive() async throws -> String? {
            for await frame in frames { return frame }
            return nil
        }

        func close() async {
            server.forgetWaiting()
            inbox.finish()
        }
    }
}
