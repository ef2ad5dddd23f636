import Testing
import Transit

@testable import VerifierService

/// Who lives, seen from session 1 of the verifier `b`.
@Suite struct FleetTests {
    /// Sessions with what is to be seen in them.
    struct Row: Sendable, CustomTestStringConvertible {
        let sessions: [(Int32, String, Bool)]
        let living: [String]
        var silent: [Int32] = []
        var isSettled = true
        var testDescription: String { "\(sessions)" }
    }

    @Test(arguments: [
        Row(sessions: [(1, "b", true)], living: ["b"]),
        Row(sessions: [(1, "b", true), (2, "c", true), (3, "a", true)], living: ["a", "b", "c"]),
        Row(sessions: [(1, "b", true), (2, "a", false)], living: ["b"], silent: [2]),
        Row(sessions: [(1, "b", false), (2, "a", false)], living: ["a", "b"]),
        Row(sessions: [(1, "b", false), (2, "a", true)], living: ["a", "b"]),
        Row(sessions: [(1, "b", true), (2, "b", true)], living: ["b"], silent: [2]),
        Row(sessions: [(1, "b", false), (2, "b", false)], living: ["b"], silent: [2]),
        Row(sessions: [(1, "b", true), (2, "a", true), (3, "a", true)], living: ["a", "b"]),
        Row(sessions: [], living: ["b"]),
        Row(sessions: [(1, "b", true), (2, "a", false)], living: ["a", "b"], isSettled: false),
        Row(
            sessions: [(1, "b", true), (2, "b", false)],
            living: ["b"],
            silent: [2],
            isSettled: false
        ),
    ])
    func `tells the living from the silent`(row: Row) {
        let sessions = row.sessions.map {
            Fleet.Session(backendPID: $0.0, instance: $0.1, beats: $0.2)
        }
        let fleet = Fleet(sessions, seenFrom: 1, of: "b", isSettled: row.isSettled)
        #expect(fleet.living == row.living)
        #expect(fleet.silent == row.silent)
    }
}

@Suite struct SlotBalanceTests {
    @Test(arguments: [
        (0, 0, 1, SlotBalance.acquire(256)), (255, 0, 1, .acquire(1)), (256, 0, 1, .keep),
        (256, 0, 2, .release(128)), (129, 1, 2, .release(1)), (128, 1, 2, .keep),
        (127, 1, 2, .acquire(1)), (86, 0, 3, .keep), (86, 1, 3, .release(1)), (85, 2, 3, .keep),
        (0, 0, 0, .acquire(256)), (1, 255, 256, .keep), (1, 256, 257, .release(1)),
    ])
    func `steps towards the share`(owned: Int, place: Int, instances: Int, next: SlotBalance) {
        #expect(SlotBalance.next(owned: owned, place: place, of: instances) == next)
    }

    @Test(arguments: [1, 2, 3, 5, 7, 100, 255, 256, 300])
    func `shares cover every slot and differ by one at most`(instances: Int) throws {
        let shares = (0..<instances).map { SlotBalance.share(at: $0, of: instances) }
        #expect(shares.reduce(0, +) == 256)
        let (least, most) = (try #require(shares.min()), try #require(shares.max()))
        #expect(most - least <= 1)
    }

    @Test(
        arguments: [
            ([0, 0, 3, 0], 2, [0, 1]), ([0, 0, 3, 0], 4, [0, 1, 3]), ([5, 2, 3, 2], 4, [2]),
            ([1], 1, [0]), ([], 1, []), ([0, 1], 1, [0]), ([0, 1], 3, [0]),
            // Half of the slots, so one of the two with rides: one empty one now, then that.
            ([0, 0, 1, 9], 2, [0]), ([0, 1, 9], 1, [0]), ([0, 1, 9, 5], 2, [0]),
            ([1, 9, 5], 1, [2]),
        ] as [([Int], Int, [UInt8])]
    )
    func `gives back what is empty at once and the rest one by one`(
        rides: [Int],
        surplus: Int,
        released: [UInt8]
    ) {
        let slots = rides.enumerated().map { (Slot(UInt8($0)), $1) }
        var plan = ReleasePlan()
        let chosen = plan.next(surplus, of: Dictionary(uniqueKeysWithValues: slots))
        #expect(chosen == released.map { Slot($0) })
    }

    @Test(arguments: [0, 1, 2, 28, 57, 128, 255, 256])
    func `who joins takes over half of the slots with rides`(busy: Int) {
        var rides = Dictionary(
            uniqueKeysWithValues: Slot.all.map { ($0, Int($0.rawValue) < busy ? 1 : 0) }
        )
        var plan = ReleasePlan()
        var steps = 0
        while rides.count > 128 {
            let released = plan.next(rides.count - 128, of: rides)
            #expect(!released.isEmpty)
            #expect(released.count == 1 || released.allSatisfy { rides[$0] == 0 })
            for slot in released { rides[slot] = nil }
            steps += 1
        }
        #expect(rides.count == 128)
        #expect(abs(rides.values.reduce(0, +) - busy / 2) <= 1)
        #expect(steps <= busy / 2 + 2)
    }

    @Test func `tries every slot that it does not own, once`() {
        let owned: Set<Slot> = [Slot(0), Slot(255)]
        let order = SlotBalance.order(for: "verifier-1", except: owned)
        #expect(order.count == 254)
        #expect(Set(order).isDisjoint(with: owned))
        #expect(Set(order).count == 254)
    }
}

@Suite struct ReportAllowanceTests {
    @Test func `lets two batches at once and then one in two seconds`() {
        var allowance = ReportAllowance()
        var answers: [Bool] = []
        for now in [100.0, 100, 100, 101.9, 102, 102, 104, 200, 200, 200] {
            answers.append(allowance.take(at: now))
        }
        #expect(
            answers == [true, true, false, false, true, false, true, true, true, false]
        )
    }
}
