internal import Synchronization
internal import Transit
internal import Verification

/// The rides of the slots that this process owns.
///
/// Written by the writer's thread alone, after a commit; read by everyone. What is here is
/// committed: a batch works on copies until its transaction is.
final class RideBook: Sendable {
    private struct OwnedSlot {
        let epoch: UInt64
        var rides: Set<UniqueID> = []
    }

    private struct State {
        var slots: [Slot: OwnedSlot] = [:]
        var rides: [UniqueID: ActiveRide] = [:]
        var changedSlots: Set<Slot> = []
        /// Decided ends that were not stored when their slots went.
        var unfiled: [UniqueID: Session] = [:]

        /// Rides in the order in which they were registered, the same everywhere and after each restart.
        ///
        /// Ids are sorted, as a ride is half a kilobyte.
        func inOrder(_ ids: Set<UniqueID>) -> [UniqueID] {
            ids.map { (startedAt: rides[$0]?.session.startedAt ?? 0, id: $0) }
                .sorted { $0 < $1 }
                .map(\.id)
        }
    }

    private let state = Mutex(State())

    init() {}

    // MARK: - Reading

    /// Whether this process may answer for a slot.
    func owns(_ slot: Slot) -> Bool { state.withLock { $0.slots[slot] != nil } }

    /// The owned slots with the number drawn when each was acquired.
    var ownedSlots: [Slot: UInt64] { state.withLock { $0.slots.mapValues(\.epoch) } }

    /// The number drawn when a slot was acquired; nil when it is not owned.
    func epoch(of slot: Slot) -> UInt64? { state.withLock { $0.slots[slot]?.epoch } }

    /// How many rides each owned slot has.
    var ridesBySlot: [Slot: Int] { state.withLock { $0.slots.mapValues(\.rides.count) } }

    /// How many rides are under way here.
    var rideCount: Int { state.withLock { $0.rides.count } }

    /// A ride under way in an owned slot.
    func ride(_ id: UniqueID) -> ActiveRide? { state.withLock { $0.rides[id] } }

    /// The rides of an owned slot, in the order in which they began.
    func rides(in slot: Slot) -> [ActiveRide] {
        state.withLock { state in
            state.inOrder(state.slots[slot]?.rides ?? []).compactMap { state.rides[$0] }
        }
    }

    /// The rides of some slots whose end was decided and is not stored.
    func unfiledRides(in slots: some Sequence<Slot>) -> [UniqueID] {
        state.withLock { state in
            slots.flatMap { state.slots[$0]?.rides ?? [] }
                .filter { state.rides[$0]?.unfiled != nil }
        }
        .sorted()
    }

    /// All rides under way here.
    var allRides: [ActiveRide] { state.withLock { Array($0.rides.values) } }

    /// The owned slots that have rides, and those whose rides changed since the last call: the slots
    /// in order, the members in the order in which their rides began.
    func slotsToPublish() -> [(slot: Slot, epoch: UInt64, members: [Member])] {
        let slots = state.withLock { state in
            var result: [(slot: Slot, epoch: UInt64, members: [Member])] = []
            for (slot, owned) in state.slots
            where !owned.rides.isEmpty || state.changedSlots.contains(slot) {
                var members: [Member] = []
                members.reserveCapacity(owned.rides.count)
                for id in state.inOrder(owned.rides) {
                    if let ride = state.rides[id] { members.append(ride.member) }
                }
                result.append((slot, owned.epoch, members))
            }
            state.changedSlots = []
            return result
        }
        return slots.sorted { $0.slot < $1.slot }
    }

    // MARK: - Writing, on the writer's thread

    /// Takes a slot over with the rides that its rows hold.
    ///
    /// An end that was decided here and lost its transaction with the connection still holds, unless
    /// another owner has accepted points since.
    func acquire(_ slot: Slot, epoch: UInt64, rides: [ActiveRide]) {
        state.withLock { state in
            state.slots[slot] = OwnedSlot(epoch: epoch, rides: Set(rides.map(\.rideID)))
            for var ride in rides {
                if let unfiled = state.unfiled[ride.rideID],
                    ride.session.counts.total <= unfiled.counts.total
                {
                    ride.unfiled = unfiled
                }
                state.rides[ride.rideID] = ride
            }
            state.unfiled = state.unfiled.filter { $0.key.slot != slot }
            state.changedSlots.insert(slot)
        }
    }

    /// Forgets slots and their rides, but not unfiled ends; their rows say all that a new owner needs.
    func release(_ slots: some Sequence<Slot>) {
        state.withLock { state in
            for slot in slots {
                for id in state.slots.removeValue(forKey: slot)?.rides ?? [] {
                    let ride = state.rides.removeValue(forKey: id)
                    if let unfiled = ride?.unfiled { state.unfiled[id] = unfiled }
                }
                state.changedSlots.remove(slot)
            }
        }
    }

    /// Forgets everything but unfiled ends: the connection that held the locks is gone.
    ///
    /// - Returns: The slots that were owned.
    @discardableResult
    func releaseAll() -> [Slot] {
        state.withLock { state in
            let slots = Array(state.slots.keys)
            guard !slots.isEmpty else { return [] }
            // Ends of an earlier loss, whose slots were not taken again since, stay too.
            let unfiled = state.unfiled.merging(state.rides.compactMapValues(\.unfiled)) { $1 }
            state = State(unfiled: unfiled)
            return slots
        }
    }

    /// Forgets unfiled ends of rides that began before a time: whoever owns them now ends them by their
    /// age.
    func forgetUnfiled(startedBefore time: UnixSeconds) {
        state.withLock { state in
            state.unfiled = state.unfiled.filter { $0.value.startedAt >= time }
        }
    }

    /// Takes what a committed transaction changed; nil is a ride that ended.
    func adopt(_ changes: [UniqueID: ActiveRide?]) {
        state.withLock { state in
            for (id, ride) in changes {
                let slot = id.slot
                guard state.slots[slot] != nil else { continue }
                state.changedSlots.insert(slot)
                if let ride {
                    state.rides[id] = ride
                    state.slots[slot]?.rides.insert(id)
                } else {
                    state.rides[id] = nil
                    state.slots[slot]?.rides.remove(id)
                }
            }
        }
    }

    /// Keeps an end that was decided and could not be stored, for the reaper; the first one holds.
    func keepUnfiled(_ session: Session) {
        state.withLock { state in
            guard state.rides[session.rideID]?.unfiled == nil else { return }
            state.rides[session.rideID]?.unfiled = session
        }
    }
}
