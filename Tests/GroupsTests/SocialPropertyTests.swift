import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// Random lives of a few people against a simple model of who may see whom.
@Suite(.timeLimit(.minutes(5))) struct SocialPropertyTests {
    /// A generator whose sequence its seed decides.
    struct Dice: RandomNumberGenerator {
        private var state: UInt64
        init(seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    /// People, their groups and what is known of them.
    private struct Life {
        let world: GroupsWorld
        var people: [Person]
        var groups: [String] = []
        var model = SocialModel()
        var generation = 0
    }

    private static let people = 5

    @Test(arguments: 0..<12) func `nobody ever sees whom they may not`(seed: Int) async throws {
        try await GroupsWorld.with(processes: 2) { world in
            var dice = Dice(seed: seed)
            var life = Life(world: world, people: [])
            for number in 0..<Self.people {
                life.people.append(try await world.person("rider\(number)"))
            }
            for step in 0..<120 {
                let deed = Self.deed(life, &dice)
                let process = world.processes[Int(dice.next() % 2)]
                let status = try await Self.call(deed, &life, at: process)
                let expected = life.model.apply(deed)
                #expect(status == expected, "step \(step): \(deed)")
                guard status == expected else { return }
                if step % 8 == 7 { try await Self.compare(life, "step \(step): \(deed)") }
            }
            try await Self.compare(life, "at the end")
        }
    }

    private static func deed(_ life: Life, _ dice: inout Dice) -> SocialModel.Deed {
        let one = Int(dice.next() % UInt64(people))
        let other = Int(dice.next() % UInt64(people))
        let yes = dice.next() % 4 != 0
        let kind = dice.next() % 100
        guard !life.groups.isEmpty, kind >= 12 else {
            return kind % 3 == 0 ? .create(one, circle: dice.next() % 2 == 0) : .ask(one, other)
        }
        let group = Int(dice.next() % UInt64(life.groups.count))
        switch kind {
        case 12..<25: return .ask(one, other)
        case 25..<30: return .answer(one, other, yes)
        case 30..<36: return .unfriend(one, one == other ? (one + 1) % people : other)
        case 36..<54: return .invite(one, other, group)
        case 54..<68: return .respond(one, group, yes)
        case 68..<73: return .leave(one, group)
        case 73..<84: return .share(one, group, yes)
        case 84..<92: return .fix(one)
        case 92..<98: return .fixIn(one, group)
        default: return .erase(one)
        }
    }

    /// Does it over HTTP; an erased person comes back as somebody else.
    private static func call(
        _ deed: SocialModel.Deed,
        _ life: inout Life,
        at process: GroupsProcess
    ) async throws -> Int {
        func person(_ number: Int) -> Person { life.people[number].at(process) }
        let fix = "{\"latitude\":1,\"longitude\":2}"
        switch deed {
        case .ask(let one, let other):
            let body = "{\"username\":\"\(life.people[other].handle)\"}"
            return try await person(one).post("/api/friends/requests", body).status
        case .answer(let one, let other, let yes):
            return try await person(one).post(
                "/api/friends/requests/\(life.people[other].id)/respond",
                "{\"accept\":\(yes)}"
            ).status
        case .unfriend(let one, let other):
            return try await person(one).unfriend(life.people[other]).status
        case .create(let one, let circle):
            let path = circle ? "/api/circles" : "/api/convoys"
            let answer = try await person(one).post(path, "{\"name\":\"group\"}")
            life.groups.append(try #require(answer.text("id")))
            return answer.status
        case .invite(let one, let other, let group):
            return try await person(one)
                .tryToInvite(life.people[other].handle, to: life.groups[group]).status
        case .respond(let one, let group, let yes):
            return try await person(one).respond(life.groups[group], accept: yes).status
        case .leave(let one, let group):
            return try await person(one).leave(life.groups[group]).status
        case .share(let one, let group, let on):
            return try await person(one).put(
                "/api/circles/\(life.groups[group])/sharing",
                "{\"sharing\":\(on)}"
            ).status
        case .fix(let one): return try await person(one).post("/api/me/fix", fix).status
        case .fixIn(let one, let group):
            return try await person(one).postFix(life.groups[group]).status
        case .erase(let one):
            let erasure = EraseAccount(
                accountID: life.people[one].id,
                receivedAt: life.world.clock.now
            )
            guard await process.desk.erase(erasure) else { return 500 }
            life.generation += 1
            life.people[one] = try await life.world.person("rider\(one)-\(life.generation)")
            return 200
        }
    }

    /// Everything that anybody can see is what the model says.
    private static func compare(_ life: Life, _ moment: String) async throws {
        for (one, person) in life.people.enumerated() {
            let relations = try await person.friends()
            for (other, friend) in life.people.enumerated() where other != one {
                #expect(
                    relations[friend.handle] == life.model.relation(one, to: other),
                    "\(moment): \(one) and \(other)"
                )
            }
            let listed = try await person.groups("circles") + person.groups("convoys")
            let seen = Dictionary(uniqueKeysWithValues: listed.map { ($0["id"].string ?? "", $0) })
            for (number, id) in life.groups.enumerated() {
                let group = life.model.groups[number]
                let place = "\(moment): \(one) in \(number)"
                try await compare(seen[id], group, life, one, place)
                let visible = life.model.visible(to: one, in: number)
                let answer = try await person.get("/api/circles/\(id)/positions")
                #expect(answer.status == (visible == nil ? 404 : 200), "\(place)")
                guard let visible else { continue }
                let riders = Set(answer.json["fixes"].array.compactMap { $0["riderId"].string })
                #expect(riders == Set(visible.map { "\(life.people[$0].id)" }), "\(place)")
            }
        }
    }

    private static func compare(
        _ seen: JSON?,
        _ group: SocialModel.Group,
        _ life: Life,
        _ one: Int,
        _ place: String
    ) async throws {
        guard let own = group.members[one] else {
            #expect(seen == nil, "\(place)")
            return
        }
        let seen = try #require(seen, "\(place)")
        #expect(seen["status"].string == (own.isAccepted ? "accepted" : "invited"), "\(place)")
        #expect(seen["ownerId"].string == group.owner.map { "\(life.people[$0].id)" }, "\(place)")
        let members = Dictionary(
            uniqueKeysWithValues: seen["members"].array.map { ($0["id"].string ?? "", $0) }
        )
        #expect(members.count == group.members.count, "\(place)")
        for (number, member) in group.members {
            let row = try #require(members["\(life.people[number].id)"], "\(place)")
            #expect(
                row["status"].string == (member.isAccepted ? "accepted" : "invited"),
                "\(place)"
            )
            #expect(row["sharing"].bool == (group.isCircle ? member.isSharing : nil), "\(place)")
        }
    }
}
