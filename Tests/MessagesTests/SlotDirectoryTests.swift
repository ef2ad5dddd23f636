import Messages
import Testing
import Transit

/// Who is taken for the owner of a slot.
@Suite struct SlotDirectoryTests {
    private let slot = Slot(5)

    private func table(_ instance: String, _ slots: [Slot], epoch: UInt64) -> SlotTable {
        let entries = slots.map { SlotTable.Entry(slot: $0, epoch: epoch) }
        return SlotTable(instance: instance, sequence: epoch, slots: entries)
    }

    @Test func `the higher epoch owns, in whichever order it is heard`() {
        let tables = [table("a", [slot], epoch: 1), table("b", [slot], epoch: 2)]
        for tables in [tables, tables.reversed()] {
            var directory = SlotDirectory()
            for table in tables { directory.merge(table) }
            #expect(directory.owner(of: slot) == "b")
            #expect(directory.count == 1)
        }
    }

    @Test func `an instance no longer owns what its table does not name`() {
        var directory = SlotDirectory()
        directory.merge(table("a", Slot.all, epoch: 1))
        #expect(directory.count == 256)
        directory.merge(table("a", [slot], epoch: 1))
        #expect(directory.count == 1)
        #expect(directory.owner(of: slot) == "a")
        #expect(directory.owner(of: Slot(6)) == nil)
    }

    @Test func `an empty table of one takes nothing from another`() {
        var directory = SlotDirectory()
        directory.merge(table("b", [slot], epoch: 2))
        directory.merge(table("a", [], epoch: 9))
        #expect(directory.owner(of: slot) == "b")
    }

    @Test func `a hint holds until the table of the owner is heard`() {
        var directory = SlotDirectory()
        directory.merge(table("a", [slot], epoch: 3))
        directory.note("b", owns: slot)
        #expect(directory.owner(of: slot) == "b")
        directory.merge(table("a", [slot], epoch: 2))
        #expect(directory.owner(of: slot) == "b")
        directory.merge(table("c", [slot], epoch: 4))
        #expect(directory.owner(of: slot) == "c")
    }

    @Test func `a hint about a slot that nobody knew gives way to any table`() {
        var directory = SlotDirectory()
        directory.note("b", owns: slot)
        #expect(directory.owner(of: slot) == "b")
        directory.merge(table("a", [slot], epoch: 1))
        #expect(directory.owner(of: slot) == "a")
    }

    @Test func `forgets a slot, an instance and all that do not live`() {
        var directory = SlotDirectory()
        directory.merge(table("a", [Slot(1), Slot(2)], epoch: 1))
        directory.merge(table("b", [Slot(3)], epoch: 1))
        directory.merge(table("c", [Slot(4)], epoch: 1))
        directory.forget(Slot(1))
        #expect(directory.count == 3)
        directory.remove("b")
        #expect(directory.owner(of: Slot(3)) == nil)
        directory.keep(["a"])
        #expect(directory.count == 1)
        #expect(directory.owner(of: Slot(2)) == "a")
    }
}
