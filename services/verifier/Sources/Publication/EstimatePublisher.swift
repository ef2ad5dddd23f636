internal import Bus
internal import Messages
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Verification

/// Publishes what the rides of each owned slot say about where vehicles are.
///
/// A slot's estimates are one whole state. Only what differs from the last state is sent; the bus
/// keeps the last one for those who come late. Coverage by trusted sources is the feed's to apply.
final class EstimatePublisher: Sendable {
    private struct State {
        var last: [Slot: (epoch: UInt64, estimates: [Messages.TripEstimate])] = [:]
        var sequence: UInt64 = 0
        var witnesses: WitnessCounters
    }

    private let book: RideBook
    private let instance: String
    private let thresholds: Thresholds
    private let publish: @Sendable (_ topic: String, _ key: String, _ body: [UInt8]) -> Void
    private let state: Mutex<State>

    /// Makes a publisher.
    ///
    /// - Parameters:
    ///   - book: The rides.
    ///   - instance: This process on the bus.
    ///   - thresholds: The limits of freshness and agreement.
    ///   - metrics: Where the checks of witnesses are counted.
    ///   - publish: Sends the whole state of a key.
    init(
        book: RideBook,
        instance: String,
        thresholds: Thresholds,
        metrics: Metrics,
        publish: @escaping @Sendable (_ topic: String, _ key: String, _ body: [UInt8]) -> Void
    ) {
        self.book = book
        self.instance = instance
        self.thresholds = thresholds
        self.publish = publish
        state = Mutex(State(witnesses: WitnessCounters(metrics)))
    }

    /// How many trips were published at the last tick.
    var publishableTrips: Int {
        state.withLock { $0.last.values.reduce(0) { $0 + $1.estimates.count } }
    }

    /// Computes and sends the states that changed; called once a second.
    func tick(at now: UnixSeconds) {
        let slots = book.slotsToPublish()
        let owned = book.ownedSlots
        let changed: [Estimates] = state.withLock { state in
            // A slot given away is the new owner's to speak for; its epoch is higher.
            state.last = state.last.filter { owned[$0.key] == $0.value.epoch }
            var changed: [Estimates] = []
            var marks: [UniqueID: WitnessFindings] = [:]
            for (slot, epoch, members) in slots {
                let groups = TripGroup.groups(of: members, at: now, thresholds: thresholds)
                for group in groups {
                    marks.merge(group.witnessMarks(at: now, thresholds: thresholds)) { $1 }
                }
                let current = groups.compactMap { group in
                    group.estimate(at: now, thresholds: thresholds)
                        .map(Messages.TripEstimate.init)
                }
                let last = state.last[slot]
                guard last?.epoch != epoch || last?.estimates != current else { continue }
                state.last[slot] = (epoch, current)
                state.sequence += 1
                changed.append(
                    Estimates(
                        instance: instance,
                        slot: slot,
                        epoch: epoch,
                        sequence: state.sequence,
                        createdAt: now,
                        estimates: current
                    )
                )
            }
            state.witnesses.note(marks) { book.ride($0) != nil }
            return changed
        }
        for state in changed {
            publish(BusTopics.estimates, String(state.slot.rawValue), state.encoded())
        }
    }
}

extension Messages.TripEstimate {
    /// The rules' estimate as the wire carries it.
    init(_ estimate: Verification.TripEstimate) {
        self.init(
            trip: estimate.trip,
            routeID: estimate.routeID,
            latitude: estimate.coordinate.latitude,
            longitude: estimate.coordinate.longitude,
            bearing: estimate.bearing,
            speed: estimate.speed,
            timestamp: estimate.timestamp,
            stopID: estimate.stopID,
            stopSequence: estimate.stopSequence,
            riders: estimate.riders,
            alongShape: estimate.alongShape,
            delaySeconds: estimate.delaySeconds
        )
    }
}
