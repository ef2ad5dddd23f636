import Messages
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import RelayService

/// Relays without sockets, bus and clock over a groups that is a dictionary: every step is the test's.
final class CoreFleet {
    /// One relay of the fleet.
    final class Relay {
        let name: String
        let epoch: UInt64
        let core: RelayCore
        let metrics = Metrics()
        fileprivate var clients: [CoreClient] = []
        /// It takes nothing at the moment.
        var isStill = false
        /// What other relays told it meanwhile.
        var unread: [(RelayCore.Moment) -> Void] = []

        init(
            _ name: String,
            _ limits: RelayLimits,
            _ sessions: FleetSessions,
            epoch: UInt64 = 1
        ) {
            self.name = name
            self.epoch = epoch
            core = RelayCore(
                limits: limits,
                metrics: RelayMetrics(metrics),
                status: { sessions.status(of: $0) }
            )
        }

        /// A counter's value, its labels included in the name.
        func count(_ name: String) -> Int {
            let line = metrics.rendered().split(separator: "\n").first { $0.hasPrefix(name + " ") }
            return line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
        }
    }

    private(set) var relays: [Relay]
    /// What groups holds.
    private(set) var views: [UniqueID: GroupView] = [:]
    var now = RelayCore.Moment(uptime: 1_000_000_000_000, milliseconds: 1_771_257_600_000)
    var isGroupsAway = false
    /// Nobody can say which sessions have ended.
    var isDatabaseAway = false
    /// Accounts whose views groups does not bring together in time.
    var tooMuch: Set<UniqueID> = []
    /// Whether relays are told of changes; without, only their sweeps find them.
    var isTelling = true
    /// Answers of groups stay on their way.
    var holdsAnswers = false
    /// What relays tell each other, but for what is acknowledged, stays on its way.
    var holdsNews = false
    let sessions = FleetSessions()
    var status: [UniqueID: RevocationStatus] {
        get { sessions.status }
        set { sessions.status = newValue }
    }
    private(set) var stored: [AccountFix] = []
    private(set) var fetches = 0
    private var held: [() -> Void] = []
    private var heldNews: [() -> Void] = []
    private var claims: UInt64 = 0
    private var sockets: Int32 = 0

    init(relays count: Int = 1, limits: RelayLimits = RelayLimits()) {
        relays = (1...count).map { [sessions] in Relay("relay-\($0)", limits, sessions) }
    }

    // MARK: - People and groups

    /// Opens a socket; what happens meanwhile does so before the relay has its claim and the views.
    func client(
        _ account: UniqueID,
        at relay: Int = 0,
        meanwhile: (RelayCore) -> Void = { _ in }
    ) -> CoreClient {
        sockets += 1
        let session = Session(
            number: sockets,
            account: account,
            claims: sessions.token(of: account, lifetime: .seconds(900), at: now),
            at: now.uptime
        )
        let client = CoreClient(self, relays[relay], session)
        relays[relay].clients.append(client)
        relays[relay].core.open(session)
        meanwhile(relays[relay].core)
        settle()
        return client
    }

    /// Makes a group in which everyone shares.
    func group(_ members: [UniqueID], convoy: Bool = false) -> UniqueID {
        let id = UniqueID.random()
        views[id] = GroupView(
            groupID: id,
            version: 1,
            allowsVotes: convoy,
            sharesWhileConnected: convoy,
            members: members.map { GroupView.Member(accountID: $0, sharingSinceMilliseconds: 0) }
        )
        return id
    }

    /// Changes a group as a transaction does: the version rises, and relays are told.
    func change(
        _ id: UniqueID,
        withdrawing reason: Withdrawal.Reason? = nil,
        of account: UniqueID? = nil,
        _ body: (inout GroupView) -> Void = { _ in }
    ) {
        guard var view = views[id] else { return }
        view.version += 1
        body(&view)
        if let account, let reason {
            if reason == .paused {
                for index in view.members.indices where view.members[index].accountID == account {
                    view.members[index].sharingSinceMilliseconds = nil
                    view.members[index].lastFix = nil
                }
            } else {
                view.members.removeAll { $0.accountID == account }
            }
        }
        let isGone = view.members.isEmpty
        views[id] = isGone ? nil : view
        guard isTelling else { return }
        for relay in relays {
            relay.core.hear(GroupChange(groupID: id, version: view.version, isGone: isGone))
            if let account, let reason {
                relay.core.takeAway([
                    Withdrawal(
                        groupID: id,
                        accountID: account,
                        version: view.version,
                        reason: reason
                    )
                ])
            }
        }
    }

    /// Changes a group and lets everything come to rest.
    func changed(
        _ id: UniqueID,
        withdrawing reason: Withdrawal.Reason? = nil,
        of account: UniqueID? = nil,
        _ body: (inout GroupView) -> Void = { _ in }
    ) {
        change(id, withdrawing: reason, of: account, body)
        settle()
    }

    // MARK: - Time

    /// Lets time pass, tick by tick.
    func advance(by duration: Duration) {
        let end = now.uptime + duration.nanoseconds
        while now.uptime < end {
            let step = min(250_000_000, end - now.uptime)
            now.uptime += step
            now.milliseconds += Int64(step / 1_000_000)
            for relay in relays {
                relay.core.tick(at: now)
            }
            settle()
        }
    }

    /// Lets a relay go on that stood still for a while, and what was told to it meanwhile come in.
    func stall(_ index: Int, for duration: Duration, _ meanwhile: () -> Void) {
        let relay = relays[index]
        relay.core.begin(at: now)
        relay.isStill = true
        meanwhile()
        now.uptime += duration.nanoseconds
        now.milliseconds += Int64(duration.nanoseconds / 1_000_000)
        relay.isStill = false
        relay.core.begin(at: now)
        let unread = relay.unread
        relay.unread = []
        for item in unread { item(now) }
        settle()
    }

    func checkSessions() {
        for relay in relays { relay.core.checkSessions() }
        settle()
    }

    /// Removes a relay as a crash does.
    func crash(_ index: Int) {
        let gone = relays.remove(at: index)
        for relay in relays {
            relay.core.keepRelays(Set(relays.map(\.name)).subtracting([gone.name, relay.name]))
        }
        settle()
    }

    /// Removes a relay as a crash does, and starts it again before anybody has missed it.
    func restart(_ index: Int) {
        let gone = relays[index]
        relays[index] = Relay(gone.name, gone.core.limits, sessions, epoch: gone.epoch + 1)
        relays[index].core.start()
        settle()
    }

    /// Delivers answers that were kept, the newest first if so wanted.
    func release(newestFirst: Bool = false) {
        holdsAnswers = false
        let answers = newestFirst ? held.reversed() : held
        held = []
        for answer in answers { answer() }
        settle()
    }

    /// Delivers what relays told each other.
    func releaseNews() {
        holdsNews = false
        let news = heldNews
        heldNews = []
        for item in news { item() }
        settle()
    }

    // MARK: - What relays want done

    /// Does what relays want until nothing is left, and lets clients read.
    func settle() {
        var isBusy = true
        while isBusy {
            isBusy = false
            for relay in relays {
                relay.core.fetchViews(at: now)
                for effect in relay.core.takeEffects() {
                    isBusy = true
                    carryOut(effect, relay)
                }
            }
        }
        for relay in relays {
            _ = relay.core.flushDirty(at: now) { _ in }
            for client in relay.clients where !client.isStopped && !client.session.isGathered {
                client.read()
            }
        }
    }

    private func answer(_ body: @escaping () -> Void) {
        if holdsAnswers { held.append(body) } else { body() }
    }

    private func pass(_ body: @escaping () -> Void) {
        if holdsNews { heldNews.append(body) } else { body() }
    }

    private func carryOut(_ effect: RelayCore.Effect, _ relay: Relay) {
        let core = relay.core
        switch effect {
        case .drawClaims(let count):
            let drawn = (0..<count).map { _ in
                claims += 1
                return claims
            }
            core.drew(drawn, at: now)
        case .ask(let id, let account, let group):
            let view = views[group]
            let isMember = view?.members.contains { $0.accountID == account } ?? false
            let reply = MembershipReply(
                isMember: isMember,
                version: isMember ? view?.version ?? 0 : 0,
                allowsVotes: isMember && view?.allowsVotes ?? false
            )
            let isAway = isGroupsAway
            answer { core.answered(id, isAway ? nil : reply, at: self.now) }
        case .fetch(let groups, let accounts):
            fetches += 1
            let found = views.values.filter { view in
                groups.contains(view.groupID)
                    || view.members.contains { accounts.contains($0.accountID) }
            }
            let isAway = isGroupsAway || accounts.contains(where: tooMuch.contains)
            answer { core.fetched(isAway ? nil : found, at: self.now) }
        case .sweep(let accounts):
            let found = views.values.filter { view in
                view.members.contains { accounts.contains($0.accountID) }
            }
            .map { GroupVersion(groupID: $0.groupID, version: $0.version) }
            let isAway = isGroupsAway
            answer { core.swept(isAway ? nil : found, at: self.now) }
        case .store(let fixes):
            stored += fixes
            core.stored(isDone: !isGroupsAway)
        case .publish(let part):
            let entries = core.presence(part: part)
            for other in relays where other !== relay {
                let (name, epoch) = (relay.name, relay.epoch)
                pass {
                    other.core.hear(entries, part: part, from: name, epoch: epoch, at: self.now)
                }
            }
        case .tell(let name, let news):
            let bytes = news.encoded()
            guard let other = relays.first(where: { $0.name == name }),
                let decoded = try? RelayNews(decoding: bytes)
            else { return }
            if other.isStill {
                other.unread.append { other.core.hear(decoded, at: $0) }
            } else {
                pass { other.core.hear(decoded, at: self.now) }
            }
        case .tellEnds(let round, let departures):
            let bytes = RelayRequest(body: .departed(departures)).encoded()
            var areAllTaken = true
            for other in relays where other !== relay {
                guard !other.isStill,
                    case .departed(let told)? = try? RelayRequest(decoding: bytes).body
                else {
                    areAllTaken = false
                    continue
                }
                other.core.takeIn(told)
            }
            for call in core.ends.end(round, isTaken: areAllTaken) { call() }
        case .look(let standstill):
            let isAway = isDatabaseAway
            // What is answered is as it was when the look was sent.
            let status = status
            answer {
                let newer = self.status
                self.status = status
                core.looked(!isAway, after: standstill, at: self.now)
                self.status = newer
            }
        case .resume(let session): relay.clients.first { $0.session === session }?.pump()
        case .close(let session, let reason):
            relay.clients.first { $0.session === session }?.closed(reason)
        }
    }
}

/// Which sessions have ended, by account or by token.
final class FleetSessions {
    var status: [UniqueID: RevocationStatus] = [:]
    /// Digests of tokens that were revoked by themselves.
    var endedTokens: Set<UniqueID> = []
    private var accounts: [UniqueID: UniqueID] = [:]

    func token(of account: UniqueID, lifetime: Duration, at now: RelayCore.Moment) -> TokenClaims {
        let claims = TokenClaims(
            subject: account.description,
            role: .member,
            issuedAt: now.milliseconds / 1000,
            lifetime: lifetime
        )
        if let digest = RevocationQuestion(claims).mark.tokenDigest { accounts[digest] = account }
        return claims
    }

    func status(of question: RevocationQuestion) -> RevocationStatus {
        guard let digest = question.mark.tokenDigest, !endedTokens.contains(digest) else {
            return .revoked
        }
        return accounts[digest].flatMap { status[$0] } ?? .valid
    }
}

/// A client of a relay without sockets.
final class CoreClient {
    let session: Session
    let relay: CoreFleet.Relay
    private let fleet: CoreFleet
    private var inbox: [[UInt8]] = []
    private var composer = PositionComposer()
    private(set) var frames: [JSON] = []
    private(set) var closeReason: CloseReason?
    /// Whether it reads nothing at the moment.
    var isStopped = false

    fileprivate init(_ fleet: CoreFleet, _ relay: CoreFleet.Relay, _ session: Session) {
        self.fleet = fleet
        self.relay = relay
        self.session = session
    }

    var account: UniqueID { session.account }

    func send(_ text: String) {
        inbox.append(Array(text.utf8))
        pump()
        fleet.settle()
    }

    func join(_ group: UniqueID) { send("{\"type\":\"join\",\"groupId\":\"\(group)\"}") }

    func locate(_ latitude: Double, more: String = "") {
        send("{\"type\":\"location\",\"lat\":\(latitude),\"lon\":8\(more)}")
    }

    func vote(_ group: UniqueID, _ index: Int = 1) {
        send("{\"type\":\"spin_vote\",\"groupId\":\"\(group)\",\"index\":\(index)}")
    }

    /// The socket breaks.
    func vanish() {
        relay.core.vanished(session)
        fleet.settle()
    }

    fileprivate func pump() {
        while session.isReading, !inbox.isEmpty {
            relay.core.receive(
                inbox.removeFirst(),
                from: session,
                readAt: fleet.now.milliseconds,
                at: fleet.now
            ) { token in
                guard token.hasPrefix("for "), let account = UniqueID(String(token.dropFirst(4)))
                else { return nil }
                return self.fleet.sessions.token(
                    of: account,
                    lifetime: .seconds(3600),
                    at: self.fleet.now
                )
            }
        }
    }

    fileprivate func closed(_ reason: CloseReason) { closeReason = reason }

    /// Takes everything that waits.
    func read() {
        let waiting = session.outbox.next(.max, &composer)
        for frame in waiting {
            frames.append(JSON(WebSocketBytes.payload(frame.bytes)))
        }
        session.outbox.drop(waiting.count)
    }

    /// Takes what was received so far.
    func take() -> [JSON] {
        defer { frames = [] }
        return frames
    }

    /// The types of what was received so far.
    func takeTypes() -> [String] { take().map(\.type) }

    /// The latitudes of others that were received so far, by account.
    func takePositions() -> [UniqueID: Double] {
        var positions: [UniqueID: Double] = [:]
        for frame in take() where frame.type == "positions" {
            for peer in frame["peers"].array {
                if let id = peer["u"].id { positions[id] = peer["lat"].double }
            }
        }
        return positions
    }
}
