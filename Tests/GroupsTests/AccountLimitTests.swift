import Database
import Messages
import Synchronization
import TestKit
import Testing
import Transit

@testable import GroupsService

/// How many groups one account may be in and be invited to (decision 0084).
@Suite(.timeLimit(.minutes(5))) struct AccountLimitTests {
    @Test func `a hundred convoys, twenty circles, a hundred invitations, twenty by one`() {
        #expect(GroupKind.convoy.groupLimit == 100)
        #expect(GroupKind.circle.groupLimit == 20)
        #expect(AccountLimits.openInvitations == 100)
        #expect(AccountLimits.openInvitationsByOne == 20)
    }

    // MARK: - Memberships

    @Test(arguments: GroupKind.all) func `the last group is made and one more is not`(
        kind: GroupKind
    ) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            try await world.fill(anna, with: kind.groupLimit - 1, kind)
            let last = try await anna.create(kind.collection)
            let refused = try await anna.post("/api/\(kind.collection)", "{\"name\":\"more\"}")
            #expect(refused.status == 422)
            #expect(
                refused.body
                    == "{\"error\":\"you are in \(kind.groupLimit) \(kind.collection) already, "
                    + "leave one first\",\"code\":\"group.too_many_groups\"}"
            )
            #expect(try await anna.groups(kind.collection).count == kind.groupLimit)
            // The other kind has a limit of its own.
            for other in GroupKind.all where other != kind {
                _ = try await anna.create(other.collection)
            }
            #expect(try await anna.leave(last).status == 204)
            _ = try await anna.create(kind.collection)
        }
    }

    @Test(arguments: GroupKind.all) func `who is in too many cannot accept until one is left`(
        kind: GroupKind
    ) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            try await world.befriend(anna, ben)
            try await world.fill(anna, with: kind.groupLimit - 1, kind)
            let last = try await anna.create(kind.collection)
            let group = try await ben.create(kind.collection)
            // How many groups she is in is not for Ben to know.
            #expect(try await ben.invite(anna, to: group) == "invited")
            let refused = try await anna.respond(group, accept: true)
            #expect(refused.status == 422)
            #expect(refused.code == "group.too_many_groups")
            #expect(
                try await anna.group(group, in: kind.collection)?["status"].string == "invited"
            )
            #expect(try await anna.leave(last).status == 204)
            try await anna.accept(group)
        }
    }

    @Test func `the end of a friendship gives the place back`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            _ = try await world.group("circles", ben, anna)
            try await world.fill(anna, with: GroupKind.circle.groupLimit - 1, .circle)
            #expect(try await anna.post("/api/circles", "{\"name\":\"more\"}").status == 422)
            #expect(try await ben.unfriend(anna).status == 204)
            _ = try await anna.create("circles")
        }
    }

    @Test func `who is in more from before keeps them and gets no further one`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let limit = GroupKind.circle.groupLimit
            try await world.fill(anna, with: limit + 1, .circle)
            let circles = try await anna.groups("circles")
            #expect(circles.count == limit + 1)
            for circle in circles.prefix(2) {
                #expect(try await anna.post("/api/circles", "{\"name\":\"more\"}").status == 422)
                let id = try #require(circle["id"].string)
                #expect(try await anna.leave(id).status == 204)
            }
            _ = try await anna.create("circles")
        }
    }

    // MARK: - Invitations

    @Test func `twenty invitations by one are open, a hundred by all`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            try await world.befriend(ben, anna)
            try await world.befriend(cleo, anna)
            try await world.invite(anna, by: ben, AccountLimits.openInvitationsByOne - 1)
            let (last, more) = (try await ben.create("circles"), try await ben.create("convoys"))
            #expect(try await ben.invite(anna, to: last) == "invited")
            let byOne = try await ben.tryToInvite("anna", to: more)
            #expect(byOne.status == 422)
            #expect(
                byOne.body
                    == "{\"error\":\"this person has to answer other invitations first\","
                    + "\"code\":\"group.too_many_invitations\"}"
            )
            // Who is invited already stays so.
            #expect(try await ben.invite(anna, to: last) == "invited")
            for number in 1...4 {
                let other = try await world.person("other\(number)")
                let count = AccountLimits.openInvitationsByOne - (number == 4 ? 1 : 0)
                try await world.invite(anna, by: other, count)
            }
            let (one, two) = (try await cleo.create("circles"), try await cleo.create("convoys"))
            #expect(try await cleo.invite(anna, to: one) == "invited")
            // The same bytes, whoever made the invitations.
            #expect(try await cleo.tryToInvite("anna", to: two).body == byOne.body)
            // Who is no friend hears of that alone.
            let dora = try await world.person("dora")
            let stranger = try await dora.tryToInvite("anna", to: try await dora.create("circles"))
            #expect(stranger.code == "group.invitee_not_a_friend")
        }
    }

    /// How an open invitation goes.
    enum WayOut: CaseIterable, Sendable { case accept, decline, leave, unfriend, erase, dissolve }

    @Test(arguments: WayOut.allCases) func `an invitation that goes gives its place back`(
        way: WayOut
    ) async throws {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            try await world.befriend(ben, anna)
            try await world.befriend(cleo, anna)
            for number in 1...5 {
                let other = try await world.person("other\(number)")
                let count = AccountLimits.openInvitationsByOne - (number == 5 ? 1 : 0)
                try await world.invite(anna, by: other, count)
            }
            let (bens, cleos) = (
                try await ben.create("convoys"), try await cleo.create("convoys")
            )
            try await ben.invite(anna, to: bens)
            #expect(try await cleo.tryToInvite("anna", to: cleos).status == 422)
            switch way {
            case .accept: try await anna.accept(bens)
            case .decline: #expect(try await anna.respond(bens, accept: false).status == 200)
            case .leave: #expect(try await anna.leave(bens).status == 204)
            case .unfriend: #expect(try await ben.unfriend(anna).status == 204)
            case .dissolve: #expect(try await ben.leave(bens).status == 204)
            case .erase:
                let erasure = EraseAccount(accountID: ben.id, receivedAt: world.clock.now)
                #expect(await world.process.desk.erase(erasure))
            }
            #expect(try await cleo.invite(anna, to: cleos) == "invited")
        }
    }

    // MARK: - Two at once

    /// What two calls want of one account.
    enum Wish: CaseIterable, Sendable { case make, accept, makeAndAccept, invite }

    @Test(arguments: Wish.allCases, [1, 2]) func `of two for the last place one gets it`(
        wish: Wish,
        processes: Int
    ) async throws {
        try await GroupsWorld.with(processes: processes, connections: 4) { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let (bens, cleos) = (
                try await ben.create("convoys"), try await cleo.create("convoys")
            )
            for (friend, group) in [(ben, bens), (cleo, cleos)] {
                try await world.befriend(friend, anna)
                if wish != .invite { try await friend.invite(anna, to: group) }
            }
            if wish == .invite {
                for number in 1...5 {
                    let other = try await world.person("other\(number)")
                    let count = AccountLimits.openInvitationsByOne - (number == 5 ? 1 : 0)
                    try await world.invite(anna, by: other, count)
                }
            } else {
                try await world.fill(anna, with: GroupKind.convoy.groupLimit - 1, .convoy)
            }
            let last = world.processes[processes - 1]
            let (second, distant) = (anna.at(last), cleo.at(last))
            let answers = Mutex<[Answer]>([])
            let calls: [@Sendable () async throws -> Answer] =
                switch wish {
                case .make:
                    [
                        { try await anna.post("/api/convoys", "{\"name\":\"one\"}") },
                        { try await second.post("/api/convoys", "{\"name\":\"two\"}") },
                    ]
                case .accept:
                    [
                        { try await anna.respond(bens, accept: true) },
                        { try await second.respond(cleos, accept: true) },
                    ]
                case .makeAndAccept:
                    [
                        { try await anna.post("/api/convoys", "{\"name\":\"one\"}") },
                        { try await second.respond(cleos, accept: true) },
                    ]
                case .invite:
                    [
                        { try await ben.tryToInvite("anna", to: bens) },
                        { try await distant.tryToInvite("anna", to: cleos) },
                    ]
                }
            try await world.holding(
                "SELECT FROM groups.accounts WHERE id = $1 FOR NO KEY UPDATE",
                anna.id,
                untilWaiting: 2,
                calls.map { call in
                    {
                        let answer = try await call()
                        answers.withLock { $0.append(answer) }
                    }
                }
            )
            let refused = answers.withLock { $0 }.filter { $0.status == 422 }
            #expect(refused.count == 1, "\(answers.withLock { $0 })")
            #expect(
                refused.first?.code
                    == (wish == .invite ? "group.too_many_invitations" : "group.too_many_groups")
            )
            let rows = try await world.count(
                "SELECT count(*) FROM groups.members WHERE account_id = $1 AND status = $2",
                .uuid(anna.id),
                .text(wish == .invite ? "Invited" : "Accepted")
            )
            #expect(rows == 100)
        }
    }
}

extension GroupsWorld {
    /// Makes groups in which a person is alone.
    fileprivate func fill(_ person: Person, with count: Int, _ kind: GroupKind) async throws {
        let id = person.id
        try await query { connection throws(DatabaseError) in
            try connection.execute(
                """
                WITH made AS (INSERT INTO groups.groups
                    (id, kind, name, owner_id, created_at, turn, version, event_seq)
                    SELECT gen_random_uuid(), $2, 'old', $1, now(), nextval('groups.turn'), 1, 0
                    FROM generate_series(1, \(count)) RETURNING id)
                INSERT INTO groups.members (group_id, account_id, status, is_sharing, joined_at, turn)
                SELECT id, $1, 'Accepted', false, now(), nextval('groups.turn') FROM made
                """,
                [.uuid(id), .text(kind.storedName)]
            )
        }
    }

    /// Lets a person be invited to so many convoys of another one's.
    fileprivate func invite(
        _ person: Person,
        by inviter: Person,
        _ count: Int
    ) async throws {
        try await fill(inviter, with: count, .convoy)
        let (invited, by) = (person.id, inviter.id)
        try await query { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO groups.members
                    (group_id, account_id, status, invited_by, is_sharing, joined_at, turn)
                SELECT id, $1, 'Invited', $2, false, now(), nextval('groups.turn')
                FROM groups.groups WHERE owner_id = $2 AND name = 'old'
                """,
                [.uuid(invited), .uuid(by)]
            )
        }
    }
}
