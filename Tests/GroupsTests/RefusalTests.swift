import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// A refusal takes the same way whatever its reason, so that no clock tells what its bytes do not
/// (decision 6, seed section 9).
///
/// What the database does for it is counted at every endpoint, which is the same on any machine.
/// The clock itself is read at one endpoint that reads and one that writes.
@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    private typealias Call = (method: HTTPMethod, path: String, body: String)

    /// Calls of a kind that are counted together.
    private static let repeats = 5
    /// Pages that a look at a group takes: its index and its row.
    private static let pagesOfAGroup = 2

    /// The statements of some refused calls.
    private static func statements(
        of call: Call,
        to target: String,
        by person: Person,
        in world: GroupsWorld
    ) async throws -> [StatementCount] {
        let path = call.path.replacing("GROUP", with: target)
        let body = Array(call.body.utf8)
        return try await world.statements { () async throws in
            for _ in 0..<repeats {
                #expect(try await person.send(call.method, path, body).status == 404)
            }
        }
    }

    @Test(arguments: StrangerTests.calls.indices)
    func `a stranger's call does the same whether the group exists or not`(
        index: Int
    ) async throws {
        try await GroupsWorld.with(connections: 1) { world in
            let call = StrangerTests.calls[index]
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna)
            let place = try await anna.putPlace(circle)
            _ = try await anna.postFix(circle)
            _ = try await anna.postEvent(circle, place)
            let convoy = try await anna.create("convoys")
            let unknown = try await Self.statements(
                of: call,
                to: "\(UniqueID.random())",
                by: ben,
                in: world
            )
            #expect(!unknown.isEmpty)
            for group in [circle, convoy] {
                let known = try await Self.statements(of: call, to: group, by: ben, in: world)
                #expect(known == unknown, "\(call.method) \(call.path)")
            }
        }
    }

    /// Where groups of one kind alone are found.
    private static let callsOfCircles = StrangerTests.calls.indices.filter {
        StrangerTests.calls[$0].path.hasPrefix("/api/circles/")
    }

    @Test(arguments: callsOfCircles)
    func `the wrong kind and an open invitation are refused in the same statements`(
        index: Int
    ) async throws {
        try await GroupsWorld.with(connections: 1) { world in
            let call = StrangerTests.calls[index]
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna)
            try await world.befriend(anna, ben)
            try await anna.invite(ben, to: circle)
            let convoy = try await ben.create("convoys")
            let unknown = try await Self.statements(
                of: call,
                to: "\(UniqueID.random())",
                by: ben,
                in: world
            )
            // Who has a row knows of the group: no more may be looked at than that row and the group.
            let most = unknown.map(\.pages).reduce(0, +) + Self.repeats * (1 + Self.pagesOfAGroup)
            for group in [circle, convoy] {
                let known = try await Self.statements(of: call, to: group, by: ben, in: world)
                #expect(known.map(\.outcome) == unknown.map(\.outcome))
                #expect(known.map(\.pages).reduce(0, +) <= most)
            }
        }
    }

    @Test func `a place of others takes the same way as one that does not exist`() async throws {
        try await GroupsWorld.with(connections: 1) { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let circle = try await world.sharingCircle(anna, ben)
            let elsewhere = try await world.sharingCircle(cleo)
            _ = try await anna.putPlace(circle)
            let places = [try await ben.putPlace(circle), try await cleo.putPlace(elsewhere)]
            let call: Call = (.delete, "/api/circle-places/GROUP", "")
            let unknown = try await Self.statements(
                of: call,
                to: "\(UniqueID.random())",
                by: anna,
                in: world
            )
            for place in places {
                let known = try await Self.statements(of: call, to: place, by: anna, in: world)
                #expect(known == unknown)
            }
        }
    }

    /// Medians of interleaved calls.
    @Test(arguments: [0, 6]) func `a refusal takes as long whatever its reason`(
        index: Int
    ) async throws {
        try await GroupsWorld.with { world in
            let call = StrangerTests.calls[index]
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.sharingCircle(anna)
            let convoy = try await ben.create("convoys")
            let paths = [circle, convoy, "\(UniqueID.random())"].map {
                call.path.replacing("GROUP", with: $0)
            }
            let body = Array(call.body.utf8)
            let apart = try await Self.apart { reason async throws in
                #expect(try await ben.send(call.method, paths[reason], body).status == 404)
            }
            #expect(apart < 0.05, "\(call.method) \(call.path): the medians differ by \(apart)")
        }
    }

    /// How far apart the medians of three kinds of call are, as a share of the smallest.
    ///
    /// A thousand calls of each kind, in an order that no rhythm of the machine can follow. Where they
    /// do not suffice on a busy machine more come on top, and all count: noise goes as they add up, and
    /// a difference stays.
    private static func apart(_ call: (Int) async throws -> Void) async throws -> Double {
        var times: [[Duration]] = [[], [], []]
        var apart = Double.infinity
        for round in 0..<12 where round < 3 || apart >= 0.05 {
            for _ in 0..<334 {
                for reason in [0, 1, 2].shuffled() {
                    let start = ContinuousClock.now
                    try await call(reason)
                    times[reason].append(ContinuousClock.now - start)
                }
            }
            let medians = times.map { $0.sorted()[$0.count / 2] / .seconds(1) }
            guard let low = medians.min(), let high = medians.max() else { continue }
            apart = high / low - 1
        }
        return apart
    }
}
