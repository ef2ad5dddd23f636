import Testing
import Transit

@testable import VerifierService

@Suite struct SlotBalanceTests {
    @Test(arguments: [
        (0, 1, SlotBalance.acquire(256)), (255, 1, .acquire(1)), (256, 1, .keep),
        (256, 2, .release), (129, 2, .release), (128, 2, .keep), (127, 2, .acquire(1)),
        (86, 3, .keep), (87, 3, .release), (0, 0, .acquire(256)),
    ])
    func `steps towards the share`(owned: Int, instances: Int, next: SlotBalance) {
        #expect(SlotBalance.next(owned: owned, instances: instances) == next)
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
