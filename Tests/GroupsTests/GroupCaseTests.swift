import Database
import TestKit
import Testing
import Transit

@testable import GroupsService

/// The kinds, and making and listing groups (cases 1 to 5, 9, 10, 73, 74).
@Suite(.timeLimit(.minutes(5))) struct GroupCaseTests {
    @Test func `convoys vote and circles do not (case 1)`() {
        #expect(GroupKind.convoy.allowsVotes)
        #expect(!GroupKind.circle.allowsVotes)
    }

    @Test func `a convoy goes when it is empty and a circle does not (case 2)`() {
        #expect(GroupKind.convoy.dropsWhenEmpty)
        #expect(!GroupKind.circle.dropsWhenEmpty)
    }

    @Test func `only a circle has a limit, stored fixes and a pause (case 3)`() {
        let (circle, convoy) = (GroupKind.circle, GroupKind.convoy)
        #expect(circle.memberLimit == 15)
        #expect(convoy.memberLimit == nil)
        #expect([circle.storesFixes, circle.isPausable, circle.hasPlaces] == [true, true, true])
        #expect(
            [convoy.storesFixes, convoy.isPausable, convoy.hasPlaces] == [false, false, false]
        )
    }

    @Test func `its creator is the one accepted member and does not share yet (cases 4, 9, 74)`()
        async throws
    {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let answer = try await anna.post("/api/circles", "{\"name\":\"  Family \"}")
            #expect(answer.status == 201)
            let circle = answer.json
            #expect(circle.keys == ["id", "kind", "name", "ownerId", "status", "members"])
            #expect(circle["kind"].string == "circle")
            #expect(circle["name"].string == "Family")
            #expect(circle["ownerId"].string == "\(anna.id)")
            #expect(circle["status"].string == "accepted")
            #expect(circle["members"].array.count == 1)
            let member = circle["members"][0]
            #expect(member.keys == ["id", "username", "status", "sharing"])
            #expect(member["id"].string == "\(anna.id)")
            #expect(member["username"].string == "anna")
            #expect(member["status"].string == "accepted")
            #expect(member["sharing"].bool == false)
            #expect(try await anna.groups("circles") == [circle])
            let shares = try await world.count(
                "SELECT count(*) FROM groups.members WHERE is_sharing OR status <> 'Accepted'"
            )
            #expect(shares == 0)
        }
    }

    @Test func `a convoy member's sharing is null (case 10)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let id = try await anna.create("convoys", "Ride")
            let convoy = try #require(try await anna.group(id, in: "convoys"))
            #expect(convoy["kind"].string == "convoy")
            #expect(convoy["members"][0].keys.contains("sharing"))
            #expect(convoy["members"][0]["sharing"].isNull)
        }
    }

    @Test(arguments: [
        ("{\"name\":\"\"}", 400, "group.name_required"),
        ("{\"name\":\" \\t\\n\"}", 400, "group.name_required"),
        ("{}", 400, "group.name_required"),
        ("{\"name\":null}", 400, "group.name_required"),
        ("{\"name\":5}", 400, "json.invalid_type"),
        ("{\"name\":\"\(String(repeating: "é", count: 41))\"}", 400, "group.name_too_long"),
    ])
    func `a blank name and one of 41 characters are refused (case 5)`(
        body: String,
        status: Int,
        code: String
    ) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            for collection in ["circles", "convoys"] {
                let answer = try await anna.post("/api/\(collection)", body)
                #expect(answer.status == status)
                #expect(answer.code == code)
                #expect(answer.json.keys == ["error", "code"])
            }
            #expect(try await world.count("SELECT count(*) FROM groups.groups") == 0)
        }
    }

    /// What is not seen, or makes what is seen something else.
    static let invisible = [
        "a\u{200B}b", "a\u{202E}b", "\u{2066}a", "a\u{FEFF}", "a\u{AD}b", "a\u{85}b",
        "a\u{7F}", "a\\u0007b", "a\\u001Bb", "a\\nb", "a\u{2028}b", "a\u{2029}b", "\u{3164}",
        "\u{E0041}a", "\u{200D}", "\u{200C} \u{200D}", "\u{FE0F}",
    ]

    @Test(arguments: invisible) func `a name is what one sees`(name: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            for collection in ["circles", "convoys"] {
                let answer = try await anna.post("/api/\(collection)", "{\"name\":\"\(name)\"}")
                #expect(answer.status == 400, "\(name.unicodeScalars.map(\.value))")
                #expect(answer.code == "group.name_invalid")
            }
            #expect(try await world.count("SELECT count(*) FROM groups.groups") == 0)
        }
    }

    @Test(arguments: [
        "a", String(repeating: "é", count: 40), "🚗 Fährt \"los\" \\ jetzt", "❤️ 👨‍👩‍👧‍👦", "می‌خواهم", "日本語",
    ])
    func `a name of 1 to 40 characters comes back as it was`(name: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let escaped = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            let id = try await anna.create("circles", " \(escaped) ")
            #expect(try await anna.group(id)?["name"].string == name)
        }
    }

    @Test func `kinds and states are stored by name (case 73)`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let ben = try await world.person("ben")
            let circle = try await anna.create("circles")
            _ = try await anna.create("convoys")
            try await world.befriend(anna, ben)
            try await anna.invite(ben, to: circle)
            let names = try await world.query { connection throws(DatabaseError) in
                let rows = try connection.query(
                    """
                    SELECT kind FROM groups.groups UNION SELECT status FROM groups.members
                    UNION SELECT status FROM groups.friendships ORDER BY 1
                    """
                )
                var names: [String] = []
                for row in rows { names.append(try row.text(0)) }
                return names
            }
            #expect(names == ["Accepted", "Circle", "Convoy", "Invited"])
        }
    }

    @Test func `lists groups of the kind, newest first, with any row of the caller`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let ben = try await world.person("ben")
            let first = try await anna.create("circles", "first")
            let second = try await anna.create("circles", "second")
            _ = try await anna.create("convoys", "ride")
            _ = try await ben.create("circles", "other")
            let names = try await anna.groups("circles").map { $0["name"].string }
            #expect(names == ["second", "first"])
            try await world.befriend(anna, ben)
            try await anna.invite(ben, to: first)
            let seen = try #require(try await ben.group(first))
            #expect(seen["status"].string == "invited")
            // Who is invited sees everyone and their switch.
            #expect(seen["members"].array.map { $0["username"].string } == ["anna", "ben"])
            #expect(try await ben.group(second) == nil)
        }
    }
}
