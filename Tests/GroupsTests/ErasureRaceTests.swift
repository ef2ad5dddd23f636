import Messages
import TestKit
import Testing
import Transit

@testable import GroupsService

/// An erasure that meets other calls: whatever comes first, no row is left.
@Suite(.timeLimit(.minutes(5))) struct ErasureRaceTests {
    private static let lockGroup = "SELECT FROM groups.groups WHERE id = $1 FOR UPDATE"
    private static let lockAccount =
        "SELECT FROM groups.accounts WHERE id = $1 FOR NO KEY UPDATE"

    /// Two who delete the same events in different orders would wait for each other.
    @Test func `events in a circle that was left are deleted behind its lock, too`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await anna.putPlace(circle)
            #expect(try await ben.postEvent(circle, place).status == 200)
            #expect(try await ben.leave(circle).status == 204)
            try await world.holding(
                Self.lockGroup,
                try #require(UniqueID(circle)),
                untilWaiting: 1,
                [
                    {
                        let erasure = EraseAccount(accountID: ben.id, receivedAt: world.clock.now)
                        #expect(await world.process.desk.erase(erasure))
                    }
                ]
            )
            try await ErasureTests.expectNoTrace(of: ben, in: world)
            #expect(try await anna.group(circle)?["members"].array.count == 1)
        }
    }

    /// What someone may be doing while their account is erased.
    enum Deed: String, CaseIterable, Sendable {
        case ask, befriended, answer, unfriend, create, invite, invited, accept, leave, pause
        case fix, fixEverywhere, place, event, first
    }

    @Test(arguments: Deed.allCases, [true, false])
    func `an account that is erased during anything leaves no row`(
        deed: Deed,
        erasureFirst: Bool
    ) async throws {
        try await GroupsWorld.with(processes: 2, connections: 4) { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try await world.sharingCircle(anna, ben)
            let place = try await ben.putPlace(circle)
            let bens = try await ben.create("circles", "bens")
            let other = try await ben.create("circles", "other")
            try await ben.invite(anna, to: bens)
            try await cleo.ask("anna")
            let victim = deed == .first ? world.stranger("anna", id: anna.id) : anna
            let elsewhere = victim.at(world.processes[1])
            let act: @Sendable () async throws -> Void = {
                let answer: Answer
                switch deed {
                case .ask:
                    answer = try await elsewhere.post(
                        "/api/friends/requests",
                        "{\"username\":\"cleo\"}"
                    )
                case .befriended:
                    answer = try await ben.post("/api/friends/requests", "{\"username\":\"anna\"}")
                case .answer:
                    answer = try await elsewhere.post(
                        "/api/friends/requests/\(cleo.id)/respond",
                        "{\"accept\":true}"
                    )
                case .unfriend: answer = try await elsewhere.unfriend(ben)
                case .create: answer = try await elsewhere.post("/api/convoys", "{\"name\":\"a\"}")
                case .invite: answer = try await elsewhere.tryToInvite("ben", to: circle)
                case .invited: answer = try await ben.tryToInvite("anna", to: other)
                case .accept: answer = try await elsewhere.respond(bens, accept: true)
                case .leave: answer = try await elsewhere.leave(circle)
                case .pause:
                    answer = try await elsewhere.put(
                        "/api/circles/\(circle)/sharing",
                        "{\"sharing\":false}"
                    )
                case .fix: answer = try await elsewhere.postFix(circle)
                case .fixEverywhere:
                    answer = try await elsewhere.post(
                        "/api/me/fix",
                        "{\"latitude\":1,\"longitude\":1}"
                    )
                case .place:
                    answer = try await elsewhere.post(
                        "/api/circles/\(circle)/places",
                        "{\"place\":{\"id\":1,\"radiusMeters\":5}}"
                    )
                case .event: answer = try await elsewhere.postEvent(circle, place)
                case .first: answer = try await elsewhere.get("/api/friends")
                }
                #expect(answer.status < 500, "\(deed): \(answer)")
            }
            let erase: @Sendable () async throws -> Void = {
                let erasure = EraseAccount(accountID: anna.id, receivedAt: world.clock.now)
                #expect(await world.process.desk.erase(erasure))
            }
            // Some deeds need no lock that is held here; the erasure always waits.
            try await world.holding(
                Self.lockAccount,
                anna.id,
                untilWaiting: 1,
                erasureFirst ? [erase, act] : [act, erase]
            )
            try await ErasureTests.expectNoTrace(of: anna, in: world)
            // Whoever was unfriended before was removed before.
            let owner = try await ben.group(circle)?["ownerId"].string
            #expect(owner == "\(ben.id)" || (deed == .unfriend && owner == nil))
        }
    }
}
