internal import Messages
internal import Synchronization
internal import Transit
internal import Verification

/// The newest trusted snapshot that the feed's builder published.
final class TrustedBoard: Sendable {
    private struct State {
        var snapshot = TrustedSnapshot.missing
        var newest: (epoch: UInt64, sequence: UInt64) = (0, 0)
    }

    private let thresholds: Thresholds
    private let state = Mutex(State())

    init(thresholds: Thresholds) { self.thresholds = thresholds }

    /// The snapshot to judge against; missing until one was heard.
    var snapshot: TrustedSnapshot { state.withLock { $0.snapshot } }

    /// Hears a publication; an older one than the last is dropped, and so is what does not decode.
    ///
    /// - Returns: false when it was not understood.
    @discardableResult
    func heard(_ body: [UInt8]) -> Bool {
        // Also without a configured agency: our own drivers are trusted too.
        guard let message = try? TrustedVehicles(decoding: body) else { return false }
        let snapshot = TrustedSnapshot(
            message.vehicles.map(Verification.TrustedVehicle.init),
            createdAt: message.createdAt,
            thresholds: thresholds
        )
        state.withLock { state in
            guard (message.epoch, message.sequence) > state.newest else { return }
            state.newest = (message.epoch, message.sequence)
            state.snapshot = snapshot
        }
        return true
    }
}

extension Verification.TrustedVehicle {
    /// A trusted vehicle of the wire as the rules take it; without a place it has one that is none.
    init(_ vehicle: Messages.TrustedVehicle) {
        self.init(
            tripID: vehicle.tripID,
            startDate: vehicle.startDate,
            vehicleID: vehicle.vehicleID.rawValue,
            coordinate: Coordinate(
                latitude: vehicle.latitude ?? .nan,
                longitude: vehicle.longitude ?? .nan
            ),
            timestamp: vehicle.timestamp,
            source: vehicle.source == .driver ? .driver : .agency
        )
    }
}
