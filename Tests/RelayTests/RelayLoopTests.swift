import Glibc
import Messages
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit

@testable import RelayService
@testable import ServiceKit
@testable import Web

/// Turns of the relay's thread, one by one, over real sockets.
@Suite struct RelayLoopTests {
    @Test(arguments: [899, 900])
    func `what lay ready when a turn stood still is not written`(milliseconds: Int) async throws {
        let stage = Stage()
        let (anna, ben) = (UniqueID.random(), UniqueID.random())
        stage.group([anna, ben])
        let client = try await stage.open(ben)
        stage.loop.look()
        // The turn has begun; what follows is as long as it stands still.
        stage.clock.advance(by: .milliseconds(milliseconds))
        let fix = RelayedFix(
            accountID: anna,
            latitude: 1,
            longitude: 2,
            timestampMilliseconds: 1,
            receivedAtMilliseconds: Stage.milliseconds,
            ttlSeconds: 20,
            claim: 1,
            groups: [GroupVersion(groupID: stage.groupID, version: 1)]
        )
        stage.mailbox.post(.news(RelayNews(body: .fix(fix))))
        stage.loop.turn([])
        #expect(Stage.read(client).isEmpty == (milliseconds >= 900))
    }

    @Test func `a socket whose session ended on its way from HTTP is closed`() async throws {
        let stage = Stage()
        let ben = UniqueID.random()
        stage.group([ben])
        stage.revoke(ben)
        let client = stage.connect(ben)
        stage.loop.look()
        stage.loop.turn([])
        #expect(Stage.read(client).dropFirst(2).prefix(2) == [0x0F, 0xA1])
    }

    @Test(arguments: [true, false])
    func `who asks is answered when the other relays know what has ended`(
        isTaken: Bool
    )
        async throws
    {
        let stage = Stage(relays: ["relay-2"])
        let (anna, ben) = (UniqueID.random(), UniqueID.random())
        stage.group([anna, ben])
        _ = try await stage.open(ben)
        stage.revoke(ben)
        // The topic may be faster than the question.
        stage.mailbox.post(.checkSessions(nil))
        stage.turn()
        let box = Box()
        stage.mailbox.post(.checkSessions { box.set($0) })
        stage.turn()
        #expect(box.value == nil)
        stage.confirm(isTaken)
        try await eventually("the answer") {
            stage.turn()
            return box.value != nil
        }
        #expect(box.value == isTaken)
        #expect(stage.told.map(\.accountID) == [ben])
    }

    private final class Box: Sendable {
        private let state = Mutex<Bool?>(nil)

        var value: Bool? { state.withLock { $0 } }

        func set(_ value: Bool) { state.withLock { $0 = value } }
    }
}

/// A relay's loop whose surroundings are the test's; it turns when it is told.
private final class Stage {
    private struct State {
        var view: GroupView?
        var revoked: Set<RevocationKey> = []
        var told: [RelayedDeparture] = []
        var claim: UInt64 = 0
        var confirmation: CheckedContinuation<Bool, Never>?
        var isConfirmed: Bool?
    }

    private final class Outside: Sendable {
        let state = Mutex(State())

        func tell(_ departures: [RelayedDeparture]) async -> Bool {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.told += departures
                    if let known = state.isConfirmed {
                        continuation.resume(returning: known)
                    } else {
                        state.confirmation = continuation
                    }
                }
            }
        }

        func answer(_ body: GroupsRequest.Body) -> GroupsReply.Body? {
            guard case .views = body else { return nil }
            return .views(state.withLock { state in [state.view].compactMap { $0 } })
        }
    }

    /// The application clock, which stands.
    static let milliseconds: Int64 = 1_771_257_600_000

    let clock = ManualUptime()
    let mailbox = RelayMailbox()
    let loop: RelayLoop
    private(set) var groupID = UniqueID.random()
    private let outside = Outside()
    private let count = SocketCount(limit: 10)

    init(relays: Set<String> = []) {
        let (clock, outside) = (clock, outside)
        loop = RelayLoop(
            RelayOutside(
                ask: { outside.answer($0) },
                drawClaims: { count in
                    (0..<count).map { _ in
                        outside.state.withLock { state in
                            state.claim += 1
                            return state.claim
                        }
                    }
                },
                publish: { _, _, _ in },
                tell: { _, _, _ in },
                tellEnds: { _, departures in await outside.tell(departures) },
                livingRelays: { relays },
                claims: { _ in nil },
                look: { true },
                status: { question in
                    outside.state.withLock { $0.revoked.contains(question.subject) }
                        ? .revoked : .valid
                },
                milliseconds: { Stage.milliseconds },
                uptime: { clock.nanoseconds }
            ),
            mailbox: mailbox,
            limits: RelayLimits(),
            metrics: RelayMetrics(Metrics()),
            openSockets: count
        )
    }

    private static func claims(_ account: UniqueID) -> TokenClaims {
        TokenClaims(
            subject: account.description,
            role: .member,
            issuedAt: milliseconds / 1000,
            lifetime: .seconds(900)
        )
    }

    var told: [RelayedDeparture] { outside.state.withLock { $0.told } }

    /// Makes the group in which everyone shares.
    func group(_ members: [UniqueID]) {
        let view = GroupView(
            groupID: groupID,
            version: 1,
            allowsVotes: true,
            sharesWhileConnected: true,
            members: members.map { GroupView.Member(accountID: $0, sharingSinceMilliseconds: 0) }
        )
        outside.state.withLock { $0.view = view }
    }

    func revoke(_ account: UniqueID) {
        let subject = RevocationQuestion(Self.claims(account)).subject
        outside.state.withLock { _ = $0.revoked.insert(subject) }
    }

    /// The other relays confirm what they were told, or do not.
    func confirm(_ isTaken: Bool) {
        outside.state.withLock { state in
            state.isConfirmed = isTaken
            state.confirmation?.resume(returning: isTaken)
            state.confirmation = nil
        }
    }

    func turn() {
        loop.look()
        loop.turn([])
    }

    /// Hands a socket over; the client's end of it.
    func connect(_ account: UniqueID) -> Int32 {
        var ends: [Int32] = [0, 0]
        _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
        let socket = UpgradedSocket(descriptor: ends[0], receivedBytes: [])
        mailbox.post(.accept(socket, account, Self.claims(account)))
        return ends[1]
    }

    /// Hands a socket over and waits until it takes part.
    func open(_ account: UniqueID) async throws -> Int32 {
        let client = connect(account)
        try await eventually("the socket takes part") {
            turn()
            return loop.core.sessions[account] != nil
        }
        return client
    }

    /// What has come at a client's end.
    static func read(_ descriptor: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }
}
