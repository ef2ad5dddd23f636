import Foundation
import TestKit
import Testing
import Transit

@testable import RelayService

/// Many riders who join, leave, pause, part and vanish at random while relays are killed, against a model of who
/// may see whom.
///
/// Ten seconds in every run; `ALONGSIDE_SOAK_SECONDS` makes it as long as one likes (`make soak`).
@Suite(.serialized, .timeLimit(.minutes(90))) struct SoakTests {
    private static let seconds = ProcessInfo.processInfo.environment["ALONGSIDE_SOAK_SECONDS"]
        .flatMap { Int($0) }
    /// Whether this is `make soak`.
    static let isLong = seconds != nil

    @Test func `nobody ever gets a position that they may not see`() async throws {
        let riders = Self.isLong ? 200 : 16
        let pause = Duration.seconds(Self.isLong ? 10 : 3)
        try await RelayWorld.with(relays: 2, areProcesses: true) { world in
            let length = Duration.seconds(Self.seconds ?? 8)
            let soak = try await Soak(world, riders: riders, for: length, seed: 7)
            let end = ContinuousClock.now + length
            var killsAt = ContinuousClock.now + pause
            while ContinuousClock.now < end {
                try await soak.step()
                guard ContinuousClock.now >= killsAt else { continue }
                try await soak.killRelay()
                killsAt = ContinuousClock.now + pause
            }
            try await soak.finish()
            print("soak: \(soak.summary)")
            #expect(soak.forbidden.isEmpty, "\(soak.forbidden.prefix(5))")
            // A run in which nothing was delivered or taken away shows nothing.
            #expect(soak.delivered > riders * 5, "\(soak.summary)")
            #expect(soak.withdrawals > 5, "\(soak.summary)")
            #expect(soak.kills > 0, "\(soak.summary)")
        }
    }
}

/// One soak: the driver, the model and the clients.
private final class Soak {
    /// A group as the model has it.
    private struct Group {
        let isConvoy: Bool
        /// In the order in which they joined; the first is the owner after the owner left.
        var members: [Int]
        var owner: Int
        var sharing: Set<Int>
    }

    /// What was sent: who, and in which groups it was shared, each in its period of sharing.
    private struct Sent {
        let sender: Int
        var eras: [String: Int]
    }

    private let world: RelayWorld
    private let relays: [PartProcess]
    /// Relays that can do their job, as far as is known.
    private var living: Set<Int>
    private var people: [Traveller] = []
    private var clients: [LiveClient?] = []
    private var groups: [String: Group] = [:]
    private var friends: Set<Set<Int>> = []
    /// How often someone's sharing in a group has ended.
    private var eras: [String: [Int: Int]] = [:]
    private var sent: [Int: Sent] = [:]
    /// Fixes that their relay may not have read yet, by rider.
    private var unread: [Int: [Int]] = [:]
    private var random: SeededGenerator
    private(set) var forbidden: [String] = []
    private(set) var delivered = 0
    private(set) var withdrawals = 0
    private(set) var kills = 0
    private var steps = 0

    var summary: String {
        "\(steps) steps, \(sent.count) sent, \(delivered) delivered, \(withdrawals) withdrawals, "
            + "\(kills) relays killed"
    }

    init(_ world: RelayWorld, riders: Int, for length: Duration, seed: Int) async throws {
        self.world = world
        relays = world.relays.compactMap { $0 as? PartProcess }
        living = Set(relays.indices)
        random = SeededGenerator(seed: seed)
        // Tokens outlast it; that sockets end with theirs is tested elsewhere.
        let lifetime = length + .seconds(900)
        for index in 0..<riders {
            people.append(try await world.person("rider\(index)", for: lifetime))
        }
        clients = Array(repeating: nil, count: riders)
        for index in 0..<(riders / 2) {
            let owner = Int.random(in: 0..<riders, using: &random)
            try await create(owner, isConvoy: index % 2 == 0)
            let id = try #require(groups.keys.sorted().last { groups[$0]?.members == [owner] })
            for _ in 0..<3 { try await invite(to: id) }
        }
        for index in people.indices { try await connect(index) }
    }

    /// One random thing happens.
    func step() async throws {
        steps += 1
        let rider = Int.random(in: people.indices, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case ..<60: try await locate(rider)
        case ..<68: if let id = randomGroup(of: rider) { try await client(rider).join(id) }
        case ..<76:
            if let id = groups.keys.sorted().randomElement(using: &random) {
                try await invite(to: id)
            }
        case ..<84: try await toggle(rider)
        case ..<90: if let id = randomGroup(of: rider) { try await leave(rider, id) }
        case ..<93: try await unfriend(rider)
        case ..<96: clients[rider]?.abort()
        case ..<98: try await connect(rider)
        default: try await create(rider, isConvoy: Bool.random(using: &random))
        }
        if steps % 50 == 0 { for index in people.indices { try await check(index) } }
        if steps % 10 == 0 { await lookForRelays() }
    }

    /// A relay dies and is started again; meanwhile its riders come back at another one.
    func killRelay() async throws {
        await lookForRelays()
        guard living.count > 1, let victim = living.sorted().randomElement(using: &random) else {
            return
        }
        kills += 1
        living.remove(victim)
        await relays[victim].kill()
        try relays[victim].start()
    }

    private func lookForRelays() async {
        for index in relays.indices where !living.contains(index) {
            if await world.isReady(relays[index]) { living.insert(index) }
        }
    }

    /// Looks at everything that is still on its way, and that whoever may see someone does.
    func finish() async throws {
        try await eventually("every relay is back") {
            await lookForRelays()
            return living.count == relays.count
        }
        for index in people.indices { try await check(index) }
        for (id, group) in groups {
            guard let sender = group.members.first(where: { group.sharing.contains($0) }),
                let reader = group.members.first(where: { $0 != sender })
            else { continue }
            try await eventually("\(sender) is seen in \(id)") {
                try await self.locate(sender)
                return try await self.client(reader).frames.contains { frame in
                    frame["peers"].array.contains { $0["u"].id == people[sender].id }
                }
            }
        }
        for index in people.indices { try await check(index) }
    }

    // MARK: - What riders do

    private func client(_ rider: Int) async throws -> LiveClient {
        if let client = clients[rider], !client.isClosed { return client }
        try await connect(rider)
        return try #require(clients[rider])
    }

    private func connect(_ rider: Int) async throws {
        if let old = clients[rider], !old.isClosed { try await check(rider) }
        let relay = try #require(living.sorted().randomElement(using: &random))
        clients[rider] = try await LiveClient(
            port: relays[relay].port,
            token: people[rider].token
        )
    }

    private func locate(_ rider: Int) async throws {
        let serial = sent.count + 1
        var shared: [String: Int] = [:]
        for (id, group) in groups where group.sharing.contains(rider) {
            shared[id] = era(rider, id)
        }
        sent[serial] = Sent(sender: rider, eras: shared)
        unread[rider, default: []].append(serial)
        try await client(rider).locate(Double(serial) / 1e6)
    }

    private func create(_ rider: Int, isConvoy: Bool) async throws {
        let id = try await people[rider].create(isConvoy ? "convoys" : "circles")
        groups[id] = Group(
            isConvoy: isConvoy,
            members: [rider],
            owner: rider,
            sharing: []
        )
        try await beginSharing(rider, id)
        guard !isConvoy else { return }
        try await people[rider].share(id)
    }

    private func invite(to id: String) async throws {
        guard let group = groups[id], group.members.count < 8 else { return }
        let inviter = group.members[0]
        let others = people.indices.filter { !group.members.contains($0) }
        guard let guest = others.randomElement(using: &random) else { return }
        if !friends.contains([inviter, guest]) {
            try await people[inviter].befriend(people[guest])
            friends.insert([inviter, guest])
        }
        // What is given may be seen from the call on.
        groups[id]?.members.append(guest)
        try await beginSharing(guest, id)
        try await people[inviter].invite(people[guest], to: id)
        try await people[guest].accept(id)
        if !group.isConvoy { try await people[guest].share(id) }
    }

    private func toggle(_ rider: Int) async throws {
        let circles = groups.filter { !$0.value.isConvoy && $0.value.members.contains(rider) }.keys
            .sorted()
        guard let id = circles.randomElement(using: &random) else { return }
        if groups[id]?.sharing.contains(rider) ?? false {
            try await people[rider].share(id, false)
            try await settle(id) { self.endSharing(rider, id) }
        } else {
            try await beginSharing(rider, id)
            try await people[rider].share(id)
        }
    }

    private func leave(_ rider: Int, _ id: String) async throws {
        try await people[rider].leave(id)
        try await settle(id) { self.remove(rider, from: id) }
    }

    private func unfriend(_ rider: Int) async throws {
        let pairs = friends.filter { $0.contains(rider) }.map { $0.first { $0 != rider } ?? rider }
            .sorted()
        guard let other = pairs.randomElement(using: &random) else { return }
        try await people[rider].unfriend(people[other])
        friends.remove([rider, other])
        for (id, group) in groups
        where group.members.contains(rider) && group.members.contains(other) {
            // The owner stays; in somebody else's group the one who ends it leaves (decision 2).
            let leaver = group.owner == rider ? other : rider
            try await settle(id) { self.remove(leaver, from: id) }
        }
    }

    private func randomGroup(of rider: Int) -> String? {
        groups.filter { $0.value.members.contains(rider) }.keys.sorted().randomElement(
            using: &random
        )
    }

    // MARK: - The model

    private func era(_ rider: Int, _ id: String) -> Int { eras[id]?[rider] ?? 0 }

    /// What a relay has read before is not for the group; what it may still have to read comes to it after
    /// the call, as far as anybody can tell.
    private func beginSharing(_ rider: Int, _ id: String) async throws {
        try await check(rider)
        groups[id]?.sharing.insert(rider)
        for serial in unread[rider] ?? [] { sent[serial]?.eras[id] = era(rider, id) }
    }

    private func endSharing(_ rider: Int, _ id: String) {
        groups[id]?.sharing.remove(rider)
        eras[id, default: [:]][rider, default: 0] += 1
    }

    private func remove(_ rider: Int, from id: String) {
        endSharing(rider, id)
        groups[id]?.members.removeAll { $0 == rider }
        guard let group = groups[id] else { return }
        if group.owner == rider, let next = group.members.first { groups[id]?.owner = next }
        if group.members.isEmpty { groups[id] = nil }
    }

    /// Something was taken away and answered: what clients got until now is judged by what was, and from
    /// now on by what is.
    private func settle(_ id: String, _ change: () -> Void) async throws {
        withdrawals += 1
        for member in groups[id]?.members ?? [] { try await check(member) }
        change()
    }

    /// Judges everything that a client got up to now.
    private func check(_ rider: Int) async throws {
        guard let client = clients[rider] else { return }
        if !client.isClosed, (try? await client.roundTrip()) != nil { unread[rider] = nil }
        for frame in client.take() where frame.type == "positions" {
            for peer in frame["peers"].array { judge(peer, for: rider) }
        }
    }

    private func judge(_ peer: JSON, for rider: Int) {
        delivered += 1
        let serial = Int(((peer["lat"].double ?? 0) * 1e6).rounded())
        guard let fix = sent[serial], peer["u"].id == people[fix.sender].id, fix.sender != rider
        else {
            forbidden.append("rider \(rider) got \(peer)")
            return
        }
        let isAllowed = fix.eras.contains { id, era in
            self.era(fix.sender, id) == era && groups[id]?.members.contains(rider) ?? false
        }
        if !isAllowed { forbidden.append("rider \(rider) got \(serial) of rider \(fix.sender)") }
    }
}
