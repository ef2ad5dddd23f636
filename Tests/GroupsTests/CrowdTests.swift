import Database
import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// A thousand members in two hundred groups that all change at once, in one process and in two.
@Suite(.timeLimit(.minutes(5)), .serialized) struct CrowdTests {
    private static let members = 1000
    private static let groups = 200
    private static let calls = 1500

    /// How many groups are owned by somebody who is not in them.
    static let strayOwners = """
        SELECT count(*) FROM groups.groups g WHERE owner_id IS NOT NULL AND NOT EXISTS
        (SELECT FROM groups.members m WHERE m.group_id = g.id AND m.account_id = g.owner_id
        AND m.status = 'Accepted')
        """

    @Test(arguments: [1, 2]) func `no deadlock and no lost update`(processes: Int) async throws {
        try await GroupsWorld.with(processes: processes, connections: 8) { world in
            let people = (0..<Self.members).map { world.stranger("rider\($0)") }
            try await Self.settle(people, in: world)
            let groups = try await world.query { connection throws(DatabaseError) in
                let rows = try connection.query("SELECT id FROM groups.groups ORDER BY turn")
                var groups: [String] = []
                for row in rows { groups.append(try row.uuid(0).description) }
                return groups
            }
            let statuses = try await withThrowingTaskGroup { tasks in
                for worker in 0..<16 {
                    tasks.addTask {
                        try await Self.work(
                            worker,
                            people,
                            groups,
                            at: world.processes[worker % processes]
                        )
                    }
                }
                return try await tasks.reduce(into: [Int: Int]()) {
                    $0.merge($1) { $0 + $1 }
                }
            }
            #expect(statuses.keys.allSatisfy { $0 < 500 }, "\(statuses)")
            #expect(statuses.values.reduce(0, +) >= Self.calls / 16 * 16)
            for process in world.processes {
                let log = process.log.text
                for state in ["[40P01]", "[40001]", "[57014]"] { #expect(!log.contains(state)) }
            }
            try await Self.check(world)
        }
    }

    /// Groups of fifteen: an owner and fourteen friends, who are in three groups each.
    private static func settle(_ people: [Person], in world: GroupsWorld) async throws {
        let ids = people.map(\.id)
        let (members, groups) = (members, groups)
        try await world.query { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO groups.accounts SELECT id, 'rider' || (n - 1), now()
                FROM unnest($1::uuid[]) WITH ORDINALITY AS p (id, n)
                """,
                [.uuidArray(ids)]
            )
            try connection.script(
                """
                CREATE TEMPORARY TABLE seat AS
                    SELECT g, s, (g * 5 + s * 7) % \(members) AS n
                    FROM generate_series(0, \(groups - 1)) g, generate_series(0, 13) s;
                CREATE TEMPORARY TABLE person AS
                    SELECT id, substr(handle, 6)::int AS n FROM groups.accounts;
                CREATE TEMPORARY TABLE made AS
                    SELECT gen_random_uuid() AS id, g, (SELECT p.id FROM person p
                        WHERE p.n = (g * 5) % \(members)) AS owner
                    FROM generate_series(0, \(groups - 1)) g;
                INSERT INTO groups.groups SELECT id, CASE WHEN g % 4 = 0 THEN 'Convoy'
                    ELSE 'Circle' END, 'group ' || g, owner, now(), nextval('groups.turn'), 1, 0
                    FROM made ORDER BY g;
                INSERT INTO groups.members SELECT m.id, p.id, 'Accepted', NULL, true, now(),
                    nextval('groups.turn'), 0 FROM seat s JOIN made m USING (g)
                    JOIN person p ON p.n = s.n ORDER BY s.g, s.s;
                INSERT INTO groups.friendships
                    SELECT DISTINCT LEAST(a.id, b.id), GREATEST(a.id, b.id), 'Accepted',
                        LEAST(a.id, b.id), now(), now()
                    FROM seat s JOIN seat t ON t.g = s.g AND t.n <> s.n AND t.s < 3
                    JOIN person a ON a.n = s.n JOIN person b ON b.n = t.n;
                DROP TABLE seat, person, made;
                """
            )
        }
    }

    /// One worker's share of the calls.
    ///
    /// - Returns: How often each status was answered.
    private static func work(
        _ worker: Int,
        _ people: [Person],
        _ groups: [String],
        at process: GroupsProcess
    ) async throws -> [Int: Int] {
        var dice = SocialPropertyTests.Dice(seed: worker)
        var statuses: [Int: Int] = [:]
        for _ in 0..<(calls / 16) {
            // A tenth of the groups gets half of the calls.
            let range = dice.next() % 2 == 0 ? 20 : Self.groups
            let number = Int(dice.next() % UInt64(range))
            let group = groups[number]
            let seat = Int(dice.next() % 14)
            let other = people[(number * 5 + Int(dice.next() % 14) * 7) % members]
            let one = people[(number * 5 + seat * 7) % members].at(process)
            let answer: Answer
            switch dice.next() % 10 {
            case 0: answer = try await one.leave(group)
            case 1, 2: answer = try await one.tryToInvite(other.handle, to: group)
            case 3: answer = try await one.respond(group, accept: dice.next() % 4 != 0)
            case 4:
                // Two phones of one person, who changed their mind.
                async let refused = one.respond(group, accept: false)
                answer = try await one.respond(group, accept: true)
                statuses[try await refused.status, default: 0] += 1
            case 5:
                answer = try await one.put(
                    "/api/circles/\(group)/sharing",
                    "{\"sharing\":\(dice.next() % 2 == 0)}"
                )
            case 6: answer = try await one.unfriend(other)
            case 7:
                answer = try await one.post(
                    "/api/friends/requests",
                    "{\"username\":\"\(other.handle)\"}"
                )
            case 8: answer = try await one.post("/api/me/fix", "{\"latitude\":1,\"longitude\":2}")
            default:
                answer = try await one.get("/api/circles/\(group)/positions")
            }
            statuses[answer.status, default: 0] += 1
        }
        return statuses
    }

    /// What must hold whatever happened.
    private static func check(_ world: GroupsWorld) async throws {
        let rules = [
            "no circle has more than fifteen rows": """
            SELECT count(*) FROM (SELECT FROM groups.members m JOIN groups.groups g
            ON g.id = m.group_id WHERE g.kind = 'Circle' GROUP BY g.id HAVING count(*) > 15) x
            """,
            "an owner is an accepted member": strayOwners,
            "a group with members has an owner": """
            SELECT count(*) FROM groups.groups g WHERE owner_id IS NULL AND EXISTS
            (SELECT FROM groups.members m WHERE m.group_id = g.id AND m.status = 'Accepted')
            """,
            "no convoy is empty": """
            SELECT count(*) FROM groups.groups g WHERE kind = 'Convoy' AND NOT EXISTS
            (SELECT FROM groups.members m WHERE m.group_id = g.id AND m.status = 'Accepted')
            """,
            "fixes are of members who share, in circles": """
            SELECT count(*) FROM groups.fixes f JOIN groups.groups g ON g.id = f.group_id
            LEFT JOIN groups.members m ON m.group_id = f.group_id
            AND m.account_id = f.account_id WHERE m.is_sharing IS NOT TRUE OR g.kind <> 'Circle'
            """,
            "who invited is a friend of the invited": """
            SELECT count(*) FROM groups.members m WHERE m.status = 'Invited' AND NOT EXISTS
            (SELECT FROM groups.friendships f WHERE f.status = 'Accepted'
            AND f.low_id = LEAST(m.account_id, m.invited_by)
            AND f.high_id = GREATEST(m.account_id, m.invited_by))
            """,
        ]
        for (rule, sql) in rules {
            #expect(try await world.count(sql) == 0, "\(rule)")
        }
        // Each change has a version of its own and none is missing: nothing was lost. A pause that
        // is said again changes nothing and tells the version as it is.
        var versions: [UniqueID: [UInt64]] = [:]
        for change in world.relays.changes {
            versions[change.groupID, default: []].append(change.version)
        }
        let now = try await world.query { connection throws(DatabaseError) in
            let rows = try connection.query("SELECT id, version FROM groups.groups")
            var now: [UniqueID: UInt64] = [:]
            for row in rows { now[try row.uuid("id")] = UInt64(try row.int("version")) }
            return now
        }
        for (group, heard) in versions {
            let distinct = Set(heard)
            let last = now[group] ?? distinct.max() ?? 0
            #expect(distinct.subtracting([1]) == (last > 1 ? Set(2...last) : []), "\(group)")
        }
        #expect(versions.count > 20)
    }
}
