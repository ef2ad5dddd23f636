import TestKit
import Testing

@testable import RelayService

/// Turns that write positions begin a moment apart (decision 0092).
@Suite(.serialized, .timeLimit(.minutes(2))) struct TurnPaceTests {
    @Test func `the first fix goes at once, and what comes soon after it in one frame`()
        async throws
    {
        var limits = RelayLimits.inTests
        limits.turnPace = .seconds(1)
        try await RelayWorld.with(limits: limits) { world in
            let (anna, ben, cleo) = (
                try await world.person("anna"), try await world.person("ben"),
                try await world.person("cleo")
            )
            let convoy = try await world.group("convoys", anna, ben, cleo)
            let (a, b, c) = (
                try await world.connect(anna), try await world.connect(ben),
                try await world.connect(cleo)
            )
            c.join(convoy)
            try await c.next("joined")
            a.locate(1)
            #expect(try await c.next("positions")["peers"].array.count == 1)
            a.locate(2)
            b.locate(3)
            #expect(try await c.next("positions")["peers"].array.count == 2)
        }
    }
}
