import CompanionKit
import FoundationEssentials
import Synchronization
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
        var groups: [String: String] = [:]
        var greeting: [String] = []
        var refusesLogIn = false
    }

    private let state = Mutex(State())

    var lines: [String] { state.withLock { $0.lines } }
    var paths: [String] { state.withLock { $0.paths } }
    /// Frames of phones, the joins of each connection first.
    var sent: [String] { state.withLock { $0.sent } }

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

    private func take(_ frame: String) -> [String] {
        state.withLock { state in
            state.sent.append(frame)
            guard frame.contains("\"join\"") else { return [] }
            return [#"{"type":"joined","groupId":"\#(Self.group)"}"#] + state.greeting
        }
    }

    private struct Connection: RelayConnection {
        let server: SmallCompanionServer
        let frames: AsyncStream<String>
        let inbox: AsyncStream<String>.Continuation

        func send(_ text: String) async throws {
            for frame in server.take(text) { inbox.yield(frame) }
        }

        func receive() async throws -> String? {
            for await frame in frames { return frame }
            return nil
        }

        func close() async { inbox.finish() }
    }
}
