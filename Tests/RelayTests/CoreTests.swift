import Messages
import ServiceKit
import TestKit
import Testing
import Transit

@testable import RelayService

/// Who may see whom, step by step (architecture, section 6; spec, section 2).
@Suite struct CoreTests {
    private let anna = UniqueID.random()
    private let ben = UniqueID.random()
    private let cleo = UniqueID.random()

    // MARK: - Joining and positions

    @Test func `a member joins, a stranger and an unknown group are refused alike`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna])
        let (member, stranger) = (fleet.client(anna), fleet.client(ben))
        member.join(group)
        #expect(
            member.take().map(\.description) == [
                JSON("{\"type\":\"joined\",\"groupId\":\"\(group)\"}").description
            ]
        )
        stranger.join(group)
        let unknown = UniqueID.random()
        stranger.join(unknown)
        let errors = stranger.take()
        #expect(errors.map(\.type) == ["error", "error"])
        #expect(errors.map { $0["message"].string } == ["group not found", "group not found"])
        #expect(errors.map { $0["groupId"].id } == [group, unknown])
        for _ in 0..<3 { member.join(group) }
        #expect(member.takeTypes() == ["joined", "joined", "joined"])
    }

    @Test func `a fix reaches every connected member once, whoever joined`() {
        let fleet = CoreFleet()
        _ = fleet.group([anna, ben])
        _ = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b, c) = (fleet.client(anna), fleet.client(ben), fleet.client(cleo))
        a.locate(47.5, more: ",\"headingDeg\":90,\"speedKmh\":30,\"ts\":1234")
        for client in [b, c] {
            let frames = client.take()
            #expect(frames.count == 1)
            #expect(frames.first?["peers"].array.count == 1)
            let peer = frames.first?["peers"].array.first
            #expect(peer?.keys == ["u", "lat", "lon", "h", "s", "ts", "ttl"])
            #expect(peer?["u"].id == anna)
            #expect([peer?["lat"].double, peer?["h"].double, peer?["s"].double] == [47.5, 90, 30])
            #expect([peer?["ts"].int, peer?["ttl"].int] == [1234, 20])
        }
        #expect(a.take().isEmpty)
        b.locate(1)
        #expect(a.take().first?["peers"].array.first?.keys == ["u", "lat", "lon", "ts", "ttl"])
    }

    @Test func `who pauses in a circle is seen in the convoy alone, and sees everyone`() {
        let fleet = CoreFleet()
        let circle = fleet.group([anna, ben])
        _ = fleet.group([anna, cleo], convoy: true)
        let (a, b, c) = (fleet.client(anna), fleet.client(ben), fleet.client(cleo))
        fleet.changed(circle, withdrawing: .paused, of: anna)
        a.locate(1)
        #expect(b.takePositions().isEmpty)
        #expect(c.takePositions() == [anna: 1])
        b.locate(2)
        #expect(a.takePositions() == [ben: 2])
    }

    @Test func `fixes of those who share are stored once a second, the newest of each`() {
        let fleet = CoreFleet()
        _ = fleet.group([anna, ben])
        _ = fleet.group([cleo], convoy: true)
        let (a, c) = (fleet.client(anna), fleet.client(cleo))
        for latitude in 1...5 { a.locate(Double(latitude), more: ",\"accuracyM\":7") }
        c.locate(9)
        fleet.advance(by: .seconds(1))
        #expect(fleet.stored.map(\.accountID) == [anna])
        #expect(fleet.stored.first?.fix.latitude == 5)
        #expect(fleet.stored.first?.fix.accuracyMeters == 7)
        fleet.advance(by: .seconds(5))
        #expect(fleet.stored.count == 1)
    }

    @Test func `malformed, unknown and voice frames leave the socket as it was`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben], convoy: true)
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        a.join(group)
        b.join(group)
        _ = b.take()
        for example in FrameReadingTests.malformed { a.send(example.text) }
        for type in ["ptt_start", "ptt_audio", "place_event", "left"] {
            a.send("{\"type\":\"\(type)\",\"groupId\":\"\(group)\"}")
        }
        #expect(b.take().isEmpty)
        a.locate(3)
        #expect(b.takePositions() == [anna: 3])
        #expect(
            a.relay.count("relay_dropped_total{reason=\"malformed\"}")
                == FrameReadingTests.malformed.count
        )
        #expect(a.relay.count("relay_dropped_total{reason=\"unknown_type\"}") == 4)
    }

    @Test func `a flood is cut to its budget, and a second later it works again`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna])
        let client = fleet.client(anna)
        for _ in 0..<400 { client.join(group) }
        #expect(client.takeTypes().count == 40)
        fleet.advance(by: .seconds(1))
        for _ in 0..<40 { client.join(group) }
        #expect(client.takeTypes().count == 20)
        #expect(client.closeReason == nil)
    }

    // MARK: - Votes and events

    @Test(arguments: [false, true]) func `a new socket brings no new budget`(replaces: Bool) {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben], convoy: true)
        let (first, b) = (fleet.client(anna), fleet.client(ben))
        for number in 1...40 { first.locate(Double(number)) }
        _ = b.take()
        if !replaces { first.vanish() }
        let second = fleet.client(anna)
        second.locate(41)
        #expect(b.takePositions() == [:])
        fleet.now.uptime += 50_000_000
        second.locate(42)
        #expect(b.takePositions() == [anna: 42])
        // One that is full again is forgotten.
        second.vanish()
        fleet.advance(by: .seconds(8))
        #expect(second.relay.core.budgets.isEmpty)
        _ = group
    }

    @Test func `offers and votes reach who joined the convoy, with the sender's name`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b, c) = (fleet.client(anna), fleet.client(ben), fleet.client(cleo))
        a.join(group)
        b.join(group)
        for client in [a, b] { _ = client.take() }
        a.send(
            "{\"type\":\"spin_offer\",\"groupId\":\"\(group)\",\"candidates\":[{\"lat\":1,\"lon\":2},{\"lat\":3,\"lon\":4,\"name\":\"Café\"}]}"
        )
        b.vote(group, 1)
        let offer = b.take().first
        #expect(offer?.keys == ["type", "groupId", "user", "candidates"])
        #expect([offer?["groupId"].id, offer?["user"].id] == [group, anna])
        #expect(
            offer?["candidates"].array.map(\.keys) == [["lat", "lon"], ["lat", "lon", "name"]]
        )
        let vote = a.take().first
        #expect(vote?.keys == ["type", "groupId", "user", "index"])
        #expect([vote?["index"].int, vote?["user"].id == ben ? 1 : 0] == [1, 1])
        #expect(c.take().isEmpty)
        // Who has not joined is not heard.
        c.vote(group)
        #expect(a.take().isEmpty)
    }

    @Test func `a circle has no votes`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        a.join(group)
        b.join(group)
        _ = b.take()
        a.vote(group)
        #expect(b.take().isEmpty)
        #expect(a.relay.count("relay_dropped_total{reason=\"gate\"}") == 1)
    }

    @Test func `arrivals reach who joined, but not who moved`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben, cleo])
        let clients = [anna, ben, cleo].map { fleet.client($0) }
        for client in clients.prefix(2) {
            client.join(group)
            _ = client.take()
        }
        let event = PlaceEventNotice(
            groupID: group,
            accountID: anna,
            placeID: cleo,
            placeName: "Home",
            kind: "arrive",
            timestampMilliseconds: 7,
            sequence: 1
        )
        clients[0].relay.core.show(event, at: fleet.now)
        fleet.settle()
        let frame = clients[1].take().first
        #expect(frame?.keys == ["type", "groupId", "user", "placeId", "placeName", "kind", "ts"])
        #expect([frame?["placeName"].string, frame?["kind"].string] == ["Home", "arrive"])
        #expect(clients[0].take().isEmpty && clients[2].take().isEmpty)
    }

    // MARK: - Taking away

    @Test(arguments: [Withdrawal.Reason.left, .removed, .erased])
    func `nothing that waits is delivered to or from someone who is gone`(reason: Withdrawal.Reason)
    {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b, c) = (fleet.client(anna), fleet.client(ben), fleet.client(cleo))
        for client in [a, b, c] {
            client.join(group)
            _ = client.take()
        }
        for client in [a, b] { client.isStopped = true }
        a.locate(1)
        b.locate(2)
        c.locate(3)
        a.vote(group)
        b.vote(group)
        fleet.change(group, withdrawing: reason, of: anna)
        // What is read from now on is after the caller's answer.
        b.read()
        a.read()
        #expect(a.take().isEmpty)
        #expect(a.session.phase == .closed)
        let frames = b.take()
        #expect(frames.map(\.type) == ["positions", "left"])
        #expect(frames.first?["peers"].array.map { $0["u"].id } == [cleo])
        #expect(frames.last?["user"].id == anna)
        #expect(frames.last?["groupId"].id == group)
        fleet.settle()
        #expect(a.closeReason == .membershipEnded)
        b.isStopped = false
        c.locate(4)
        #expect(b.takePositions() == [cleo: 4])
        a.locate(5)
        #expect(b.take().isEmpty)
    }

    @Test func `who pauses is gone from the others' queues and still gets theirs`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        for client in [a, b] {
            client.join(group)
            _ = client.take()
        }
        b.isStopped = true
        a.locate(1)
        fleet.change(group, withdrawing: .paused, of: anna)
        b.isStopped = false
        fleet.settle()
        #expect(b.takeTypes() == ["left"])
        b.locate(2)
        #expect(a.takePositions() == [ben: 2])
        #expect(a.closeReason == nil)
        // A second time says nothing new.
        fleet.changed(group, withdrawing: .paused, of: anna)
        #expect(b.take().isEmpty)
    }

    @Test func `losing one membership keeps the socket, losing the last closes it`() {
        let fleet = CoreFleet()
        let convoy = fleet.group([anna, ben], convoy: true)
        let circle = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        for group in [convoy, circle] {
            a.join(group)
            b.join(group)
        }
        fleet.changed(convoy, withdrawing: .removed, of: anna)
        for client in [a, b] { _ = client.take() }
        a.locate(1)
        #expect(b.takePositions() == [anna: 1])
        b.vote(convoy)
        #expect(a.take().isEmpty)
        fleet.changed(circle, withdrawing: .removed, of: anna)
        #expect(a.closeReason == .membershipEnded)
        // The departure was said once for each group.
        #expect(b.takeTypes() == ["left"])
    }

    @Test func `a join that crosses a removal is refused`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        // Something else that the socket is for.
        _ = fleet.group([anna])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        b.join(group)
        fleet.holdsAnswers = true
        a.join(group)
        fleet.change(group, withdrawing: .removed, of: anna)
        fleet.release()
        #expect(a.takeTypes() == ["error"])
        b.locate(1)
        #expect(a.take().isEmpty)
    }

    @Test func `a view that crosses a removal is fetched again`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let b = fleet.client(ben)
        b.join(group)
        fleet.holdsAnswers = true
        let a = fleet.client(anna)
        fleet.change(group, withdrawing: .removed, of: anna)
        fleet.release()
        _ = b.take()
        b.locate(1)
        a.locate(2)
        #expect(a.takePositions().isEmpty)
        #expect(b.takePositions().isEmpty)
    }

    @Test func `a group is silent until its view is fetched, then gets what waited`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        fleet.holdsAnswers = true
        fleet.change(group)
        a.locate(1)
        a.locate(2)
        #expect(b.take().isEmpty)
        fleet.release()
        #expect(b.takePositions() == [anna: 2])
    }

    @Test func `what waited for a view is judged by it`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        fleet.holdsAnswers = true
        fleet.change(group)
        fleet.settle()
        a.locate(1)
        fleet.change(group, withdrawing: .paused, of: anna)
        fleet.release()
        #expect(b.takePositions().isEmpty)
    }

    // MARK: - Failing closed

    @Test func `with groups away positions stop after 15 s and joins are refused`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        fleet.advance(by: .seconds(6))
        fleet.isGroupsAway = true
        fleet.advance(by: .seconds(8))
        a.locate(1)
        #expect(b.takePositions() == [anna: 1])
        fleet.advance(by: .seconds(8))
        a.locate(2)
        #expect(b.takePositions().isEmpty)
        b.join(group)
        let error = b.take().first
        #expect(error?.keys == ["type", "message"])
        fleet.isGroupsAway = false
        fleet.advance(by: .seconds(6))
        a.locate(3)
        #expect(b.takePositions() == [anna: 3])
        #expect(a.closeReason == nil && b.closeReason == nil)
    }

    @Test func `a lost event is found by the sweep within 5 s`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben, cleo])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        for client in [a, b] {
            client.join(group)
            _ = client.take()
        }
        fleet.isTelling = false
        fleet.changed(group, withdrawing: .removed, of: anna)
        fleet.advance(by: .seconds(5))
        #expect(b.takeTypes() == ["left"])
        #expect(a.closeReason == .membershipEnded)
        // A group that came, and one that went.
        let new = fleet.group([ben, cleo], convoy: true)
        let c = fleet.client(cleo)
        fleet.advance(by: .seconds(5))
        c.locate(1)
        #expect(b.takePositions() == [cleo: 1])
        fleet.change(new, withdrawing: .left, of: ben)
        fleet.change(new, withdrawing: .left, of: cleo)
        fleet.changed(group, withdrawing: .left, of: cleo)
        fleet.advance(by: .seconds(5))
        #expect(b.relay.core.groups.keys.map(\.description) == [group.description])
        #expect(b.relay.count("relay_sweep_finds_total") >= 3)
    }

    @Test func `a socket whose session has ended is closed, and peers hear of it`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        for client in [a, b] { client.join(group) }
        _ = b.take()
        fleet.status[anna] = .revoked
        fleet.checkSessions()
        #expect(a.closeReason == .sessionEnded)
        #expect(b.takeTypes() == ["left"])
    }

    @Test func `a socket ends with its token unless a fresh one came`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        a.join(group)
        b.send("{\"type\":\"auth\",\"token\":\"nonsense\"}")
        b.send("{\"type\":\"auth\",\"token\":\"for \(anna)\"}")
        #expect(b.takeTypes() == ["error", "error"])
        a.send("{\"type\":\"auth\",\"token\":\"for \(anna)\"}")
        let answer = a.take().last
        #expect(answer?.keys == ["type", "expiresAt"])
        #expect(answer?["expiresAt"].int == Int(fleet.now.milliseconds) + 3_600_000)
        fleet.advance(by: .seconds(899))
        #expect(b.closeReason == nil)
        fleet.advance(by: .seconds(2))
        #expect(b.closeReason == .sessionEnded)
        #expect(a.closeReason == nil)
    }

    @Test func `nothing is shown while nobody can say which sessions have ended`() {
        let fleet = CoreFleet()
        _ = fleet.group([anna, ben])
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        fleet.status[anna] = .unknown
        fleet.checkSessions()
        b.locate(1)
        a.locate(1)
        #expect(a.take().isEmpty && b.take().isEmpty)
        fleet.status = [:]
        fleet.checkSessions()
        a.locate(2)
        #expect(b.takePositions() == [anna: 2])
    }

    // MARK: - One socket for each rider

    @Test func `a second socket replaces the first without left`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben])
        let (first, b) = (fleet.client(anna), fleet.client(ben))
        for client in [first, b] { client.join(group) }
        for client in [first, b] { _ = client.take() }
        let second = fleet.client(anna)
        #expect(first.closeReason == .replaced)
        b.locate(1)
        #expect(first.take().isEmpty)
        #expect(second.takePositions() == [ben: 1])
        #expect(b.take().isEmpty)
        second.vanish()
        // It had joined nothing.
        #expect(b.take().isEmpty)
    }

    @Test func `who vanishes leaves each group that was joined`() {
        let fleet = CoreFleet()
        let groups = [
            fleet.group([anna, ben]), fleet.group([anna, ben], convoy: true),
            fleet.group([anna, ben]),
        ]
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        for group in groups { b.join(group) }
        for group in groups.prefix(2) { a.join(group) }
        _ = b.take()
        a.vanish()
        let frames = b.take()
        #expect(frames.map(\.type) == ["left", "left"])
        #expect(Set(frames.map { $0["groupId"].id }) == Set(groups.prefix(2)))
        #expect(a.relay.core.sessions.count == 1)
        b.vanish()
        #expect(a.relay.core.groups.isEmpty && a.relay.core.groupsOfMember.isEmpty)
    }

    // MARK: - Late joiners

    @Test func `who joins late sees what is known and still alive`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben, cleo], convoy: true)
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        a.locate(1)
        fleet.advance(by: .seconds(15))
        b.locate(2)
        let c = fleet.client(cleo)
        c.join(group)
        var frames = c.take()
        #expect(frames.map(\.type) == ["joined", "positions"])
        let ttl = Dictionary(
            uniqueKeysWithValues: (frames.last?["peers"].array ?? []).map {
                ($0["u"].id, $0["ttl"].int)
            }
        )
        #expect(ttl == [anna: 5, ben: 20])
        fleet.advance(by: .seconds(6))
        c.join(group)
        frames = c.take()
        #expect(frames.last?["peers"].array.map { $0["u"].id } == [ben])
        b.vanish()
        _ = c.take()
        c.join(group)
        #expect(c.takeTypes() == ["joined"])
    }

    @Test func `in a circle the stored fix is shown as long as it counts, never of who paused`() {
        let fleet = CoreFleet()
        let group = fleet.group([anna, ben, cleo])
        let fix = MemberFix(
            latitude: 5,
            longitude: 6,
            timestampMilliseconds: 7,
            receivedAtMilliseconds: fleet.now.milliseconds - 100_000
        )
        fleet.changed(group) { view in
            for index in view.members.indices { view.members[index].lastFix = fix }
        }
        fleet.changed(group, withdrawing: .paused, of: cleo)
        let a = fleet.client(anna)
        a.join(group)
        let peers = a.take().last?["peers"].array ?? []
        #expect(peers.map { $0["u"].id } == [ben])
        #expect(peers.first?["ttl"].int == 200)
        fleet.advance(by: .seconds(200))
        a.join(group)
        #expect(a.takeTypes() == ["joined"])
    }

    // MARK: - Fixes over HTTP

    @Test func `a fix over HTTP counts 300 s, and reaches a convoy only with an open socket`() {
        let fleet = CoreFleet()
        let circle = fleet.group([anna, ben])
        let convoy = fleet.group([anna, cleo], convoy: true)
        let (b, c) = (fleet.client(ben), fleet.client(cleo))
        func post(_ latitude: Double) {
            let fix = MemberFix(
                latitude: latitude,
                longitude: 1,
                timestampMilliseconds: 1,
                receivedAtMilliseconds: fleet.now.milliseconds
            )
            let targets = [(circle, false), (convoy, true)].map {
                LiveFix.Target(groupID: $0.0, version: 1, sharesWhileConnected: $0.1)
            }
            b.relay.core.hear(
                LiveFix(accountID: anna, fix: fix, ttlSeconds: 300, targets: targets),
                at: fleet.now
            )
            fleet.settle()
        }
        post(1)
        #expect(b.take().first?["peers"].array.first?["ttl"].int == 300)
        #expect(c.take().isEmpty)
        let a = fleet.client(anna)
        post(2)
        #expect(b.takePositions() == [anna: 2])
        #expect(c.takePositions() == [anna: 2])
        #expect(a.take().isEmpty)
    }

    // MARK: - Bounds

    @Test func `a client that takes nothing is closed when its queue is full`() {
        var limits = RelayLimits()
        limits.waitingFrames = 10
        let fleet = CoreFleet(limits: limits)
        let group = fleet.group([anna, ben], convoy: true)
        let (a, b) = (fleet.client(anna), fleet.client(ben))
        for client in [a, b] { client.join(group) }
        b.read()
        b.isStopped = true
        for _ in 0..<10 { a.vote(group) }
        #expect(b.closeReason == nil)
        for _ in 0..<500 {
            a.locate(1)
            fleet.advance(by: .milliseconds(250))
        }
        #expect(b.closeReason == nil)
        a.vote(group)
        #expect(b.closeReason == .tooSlow)
    }

    @Test func `a socket that gets no answer about its groups is closed`() {
        let fleet = CoreFleet()
        fleet.isGroupsAway = true
        let client = fleet.client(anna)
        fleet.advance(by: .seconds(6))
        #expect(client.closeReason == .fault)
        #expect(client.relay.core.opening.isEmpty)
    }
}
