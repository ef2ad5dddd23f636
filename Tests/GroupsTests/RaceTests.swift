import Database
import Messages
import Synchronization
import TestKit
import Testing
import Transit

@testable import GroupsService

/// Calls that meet: whatever comes first, nobody ends up where they may not be, in one process or
/// in two.
@Suite(.timeLimit(.minutes(5))) struct RaceTests {
    private static let lockGroup = "SELECT FROM groups.groups WHERE id = $1 FOR UPDATE"
    private static let lockAccount =
        "SELECT FROM groups.accounts WHERE id = $1 FOR NO KEY UPDATE"

    /// Answers of calls that run together.
    private final class Answers: Sendable {
        private let answers = Mutex<[String: Answer]>([:])
        func add(_ name: String, _ answer: Answer) { answers.withLock { $0[name] = answer } }
        subscript(name: String) -> Answer? { answers.withLock { $0[name] } }
        var all: [Answer] { answers.withLock { Array($0.values) } }
    }

    @Test(arguments: [1, 2]) func `of two invitations for the last place one is made`(
        processes: Int
    ) async throws {
        try await GroupsWorld.with(processes: processes, connections: 4) { world in
            let anna = try await world.person("anna")
            let ben = try await world.person("ben")
            let circle = try await world.group("circles", anna, ben)
            for number in 3...14 {
                let friend = try await world.person("friend\(number)")
                try await world.befriend(anna, friend)
                try await anna.invite(friend, to: circle)
            }
            let (cleo, dora) = (try await world.person("cleo"), try await world.person("dora"))
            try await world.befriend(anna, cleo)
            try await world.befriend(ben, dora)
            let answers = Answers()
            let last = ben.at(world.processes[processes - 1])
            try await world.holding(
                Self.lockGroup,
                try #require(UniqueID(circle)),
                untilWaiting: 2,
                [
                    { answers.add("anna", try await anna.tryToInvite("cleo", to: circle)) },
                    { answers.add("ben", try await last.tryToInvite("dora", to: circle)) },
                ]
            )
            #expect(answers.all.map(\.status).sorted() == [200, 422])
            #expect(answers.all.contains { $0.code == "group.circle_full" })
            #expect(try await world.count("SELECT count(*) FROM groups.members") == 15)
        }
    }

    @Test(arguments: [1, 2]) func `who leaves while inviting invites nobody`(
        processes: Int
    ) async throws {
        try await GroupsWorld.with(processes: processes, connections: 4) { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try await world.group("circles", anna, ben)
            try await world.befriend(ben, cleo)
            let answers = Answers()
            let other = ben.at(world.processes[processes - 1])
            // The invitation waits for its invitee's account, the leaving does not.
            try await world.holding(
                Self.lockAccount,
                cleo.id,
                untilWaiting: 1,
                whileHeld: { () async throws in #expect(try await other.leave(circle).status == 204)
                },
                [{ answers.add("ben", try await ben.tryToInvite("cleo", to: circle)) }]
            )
            #expect(answers["ben"]?.status == 404, "\(String(describing: answers["ben"]))")
            #expect(try await cleo.groups("circles").isEmpty)
        }
    }

    @Test func `who is new to a process does not wait for a lock of the account`() async throws {
        try await GroupsWorld.with(processes: 2, connections: 4) { world in
            let ben = try await world.person("ben")
            #expect(try await ben.groups("circles").isEmpty)
            let other = ben.at(world.processes[1])
            try await world.holding(
                Self.lockAccount,
                ben.id,
                untilWaiting: 0,
                whileHeld: { () async throws in #expect(try await other.groups("circles").isEmpty)
                },
                []
            )
        }
    }

    @Test func `who is removed while waiting for the group does nothing in it`() async throws {
        try await GroupsWorld.with(connections: 4) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await anna.putPlace(circle)
            let answers = Answers()
            // Whoever holds the group takes Ben out of it; his calls have passed the gate once.
            try await world.holding(
                """
                WITH gone AS (DELETE FROM groups.members m USING groups.accounts a
                    WHERE a.id = m.account_id AND a.handle = 'ben' AND m.group_id = $1)
                SELECT FROM groups.groups WHERE id = $1 FOR UPDATE
                """,
                try #require(UniqueID(circle)),
                untilWaiting: 2,
                [
                    { answers.add("event", try await ben.postEvent(circle, place)) },
                    {
                        answers.add(
                            "sharing",
                            try await ben.put(
                                "/api/circles/\(circle)/sharing",
                                "{\"sharing\":false}"
                            )
                        )
                    },
                ]
            )
            #expect(answers.all.map(\.status) == [404, 404])
            #expect(try await world.count("SELECT count(*) FROM groups.events") == 0)
        }
    }

    @Test(arguments: [1, 2], 0..<4) func `a friendship that ends while its invitation is accepted`(
        processes: Int,
        turn: Int
    ) async throws {
        try await GroupsWorld.with(processes: processes, connections: 4) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            let circle = try await anna.create("circles")
            try await anna.invite(ben, to: circle)
            let answers = Answers()
            let other = anna.at(world.processes[processes - 1])
            let accept: @Sendable () async throws -> Void = {
                answers.add("accept", try await ben.respond(circle, accept: true))
            }
            let end: @Sendable () async throws -> Void = {
                answers.add("end", try await other.unfriend(ben))
            }
            try await world.holding(
                Self.lockAccount,
                turn < 2 ? anna.id : ben.id,
                untilWaiting: 2,
                turn % 2 == 0 ? [accept, end] : [end, accept]
            )
            #expect(answers["end"]?.status == 204)
            #expect([200, 404].contains(answers["accept"]?.status))
            #expect(try await ben.groups("circles").isEmpty)
            #expect(try await anna.group(circle)?["members"].array.count == 1)
        }
    }

    @Test(arguments: [1, 2], [true, false])
    func `of an acceptance and a refusal of one invitation one counts`(
        processes: Int,
        refusalFirst: Bool
    ) async throws {
        try await GroupsWorld.with(processes: processes, connections: 4) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            #expect(try await ben.postFix(circle).status == 204)
            // Whoever accepts owns it, as nobody else is in it.
            let empty = try await anna.create("circles", "empty")
            try await anna.invite(ben, to: empty)
            #expect(try await anna.leave(empty).status == 204)
            let answers = Answers()
            let other = ben.at(world.processes[processes - 1])
            let respond: @Sendable (Bool, Bool) async throws -> Void = { isFirst, accept in
                let person = isFirst ? ben : other
                if !isFirst {
                    try await eventually("the first waits") { try await world.waiting() > 0 }
                }
                answers.add("\(accept)", try await person.respond(empty, accept: accept))
            }
            // Both have to pass the invitation itself, which is held.
            try await world.holding(
                "SELECT FROM groups.members WHERE group_id = $1 FOR UPDATE",
                try #require(UniqueID(empty)),
                untilWaiting: 2,
                [
                    { try await respond(true, !refusalFirst) },
                    { try await respond(false, refusalFirst) },
                ]
            )
            let statuses = answers.all.map(\.status).sorted()
            #expect([[200, 404], [200, 422]].contains(statuses), "\(answers.all)")
            let isIn = answers["true"]?.status == 200
            #expect(try await ben.group(empty)?["ownerId"].string == (isIn ? "\(ben.id)" : nil))
            #expect(try await world.count(CrowdTests.strayOwners) == 0)
            let erasure = EraseAccount(accountID: ben.id, receivedAt: world.clock.now)
            #expect(await world.process.desk.erase(erasure))
            try await ErasureTests.expectNoTrace(of: ben, in: world)
        }
    }

    @Test func `a fix that meets a pause is gone after it`() async throws {
        try await GroupsWorld.with(connections: 4) { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            for _ in 0..<20 {
                try await anna.share(circle)
                async let fix = anna.postFix(circle)
                async let everywhere = anna.post("/api/me/fix", "{\"latitude\":1,\"longitude\":1}")
                async let pause: Void = anna.share(circle, false)
                #expect(try await [fix.status, everywhere.status] == [204, 204])
                try await pause
                #expect(try await world.count("SELECT count(*) FROM groups.fixes") == 0)
            }
        }
    }

    @Test func `twenty repeats of one event at once make one`() async throws {
        try await GroupsWorld.with(processes: 2, connections: 4) { world in
            let anna = try await world.person("anna")
            let circle = try await world.sharingCircle(anna)
            let place = try await anna.putPlace(circle)
            let key = ",\"clientEventId\":\"\(UniqueID.random())\""
            let bodies = try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    let person = anna.at(world.processes[number % 2])
                    group.addTask {
                        try await person.postEvent(circle, place, more: key).body
                    }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(bodies.count == 1)
            #expect(try await world.count("SELECT count(*) FROM groups.events") == 1)
            #expect(world.relays.events.count == 1)
        }
    }

    @Test func `sixty places at once leave fifty`() async throws {
        try await GroupsWorld.with(processes: 2, connections: 4) { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            try await withThrowingTaskGroup { group in
                for number in 1...60 {
                    let person = anna.at(world.processes[number % 2])
                    group.addTask { _ = try await person.putPlace(circle, id: Int64(number)) }
                }
                try await group.waitForAll()
            }
            #expect(try await world.count("SELECT count(*) FROM groups.places") == 50)
        }
    }

    @Test func `twenty requests of two people for each other make one friendship`() async throws {
        try await GroupsWorld.with(processes: 2, connections: 4) { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        try await number % 2 == 0
                            ? anna.ask("ben") : ben.at(world.processes[1]).ask("anna")
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await anna.friends() == ["ben": "friend"])
            #expect(try await world.count("SELECT count(*) FROM groups.friendships") == 1)
        }
    }
}
