import Messages
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// Who may not see a group learns nothing about it (case 27, decision 6, seed section 9).
@Suite(.timeLimit(.minutes(5))) struct StrangerTests {
    /// Every endpoint of a group or circle, with a body that is well formed.
    static let calls: [(method: HTTPMethod, path: String, body: String)] = [
        (.get, "/api/circles/GROUP/positions", ""),
        (.post, "/api/circles/GROUP/positions", "{\"latitude\":1,\"longitude\":2}"),
        (.get, "/api/circles/GROUP/places", ""),
        (.post, "/api/circles/GROUP/places", "{\"place\":{\"id\":1,\"radiusMeters\":5}}"),
        (.get, "/api/circles/GROUP/events", ""),
        (
            .post, "/api/circles/GROUP/events",
            "{\"placeId\":\"00000000-0000-4000-8000-000000000000\",\"kind\":\"arrive\"}"
        ),
        (.put, "/api/circles/GROUP/sharing", "{\"sharing\":true}"),
        (.post, "/api/groups/GROUP/invitations", "{\"username\":\"anna\"}"),
        (.post, "/api/groups/GROUP/invitations/respond", "{\"accept\":true}"),
        (.delete, "/api/groups/GROUP/membership", ""),
    ]

    @Test func `every endpoint answers the same bytes for what may not be seen (case 27)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try await world.sharingCircle(anna)
            let convoy = try await anna.create("convoys")
            try await world.befriend(anna, ben)
            try await anna.invite(ben, to: circle)
            let unknown = "\(UniqueID.random())"
            for call in Self.calls {
                var attempts = [(cleo, circle), (cleo, convoy), (cleo, unknown), (cleo, "5")]
                if call.path.contains("circles") {
                    attempts += [(anna, convoy), (ben, circle)]
                }
                for (person, group) in attempts {
                    let answer = try await person.send(
                        call.method,
                        call.path.replacing("GROUP", with: group),
                        Array(call.body.utf8)
                    )
                    #expect(answer.status == 404, "\(call.method) \(call.path)")
                    #expect(
                        answer.body
                            == "{\"error\":\"group not found\",\"code\":\"group.not_found\"}"
                    )
                    #expect(answer.headers.first("Cache-Control") == "no-store")
                }
            }
            let rows = try await world.count(
                """
                SELECT (SELECT count(*) FROM groups.fixes) + (SELECT count(*) FROM groups.places)
                    + (SELECT count(*) FROM groups.events)
                """
            )
            #expect(rows == 0)
        }
    }

    @Test func `the relay's question goes through the same gate`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let convoy = try await world.group("convoys", anna, ben)
            let circle = try await anna.create("circles")
            try await world.befriend(anna, cleo)
            try await anna.invite(cleo, to: circle)
            func ask(_ person: Person, _ group: String) async -> GroupsReply.Body {
                await world.process.desk.answer(
                    GroupsRequest(
                        body: .membership(
                            accountID: person.id,
                            groupID: UniqueID(group) ?? .random()
                        )
                    )
                )
            }
            let isIn = MembershipReply(isMember: true, version: 2, allowsVotes: true)
            #expect(await ask(ben, convoy) == .membership(isIn))
            let inCircle = MembershipReply(isMember: true, version: 1, allowsVotes: false)
            #expect(await ask(anna, circle) == .membership(inCircle))
            for (person, group) in [(cleo, convoy), (cleo, circle), (ben, circle), (ben, "")] {
                #expect(await ask(person, group) == .membership(MembershipReply(isMember: false)))
            }
        }
    }

    @Test(arguments: Role.allCases) func `members alone may call anything here`(
        role: Role
    ) async throws {
        try await GroupsWorld.with { world in
            let token = TestTokens(clock: world.clock.application).token(role, handle: "anna")
            let id = "\(UniqueID.random())"
            for endpoint in world.process.endpoints {
                #expect(endpoint.access == .roles([.member]), "\(endpoint.pattern)")
                let path = endpoint.pattern.replacing("{id}", with: id)
                let url = "http://127.0.0.1:\(world.process.port)\(path)"
                let none = try await world.http.send(endpoint.method, url)
                #expect(none.status == 401, "\(endpoint.pattern)")
                guard role != .member else { continue }
                let answer = try await world.http.send(
                    endpoint.method,
                    url,
                    headers: [("Authorization", "Bearer \(token)")]
                )
                #expect(answer.status == 403, "\(endpoint.method) \(endpoint.pattern)")
            }
        }
    }

    @Test func `a token without an account's id or a handle is no member's`() async throws {
        try await GroupsWorld.with { world in
            for handle in [nil, "", "no", "has space"] as [String?] {
                let token = TestTokens(clock: world.clock.application).token(
                    .member,
                    handle: handle
                )
                let person = Person(id: .random(), handle: "", token: token, process: world.process)
                let answer = try await person.get("/api/friends")
                #expect(answer.status == 401)
                #expect(answer.code == "auth.invalid_token")
            }
        }
    }
}
