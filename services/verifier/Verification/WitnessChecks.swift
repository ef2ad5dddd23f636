public import Transit

/// What is done with the checks of witnesses (`RIDER_WITNESS_CHECKS`).
public enum WitnessMode: String, Sendable, CaseIterable {
    /// They are not made.
    case off
    /// They are counted, and every rider is a witness.
    case count
    /// Riders who are no witnesses of their own do not publish a trip together.
    case enforce
}

/// Where and when a rider's app was installed, as far as the rider's token says.
///
/// Nobody's address is in it: `addressBlock` is a hash under a key that auth alone holds, of a block that
/// many share.
public struct WitnessOrigin: Sendable, Equatable {
    /// Of the block of addresses that the app registered from; nil where that says nothing.
    public var addressBlock: UInt64?
    /// When the app registered first.
    public var installedAt: UnixSeconds?
    /// Of platform, app and version.
    public var build: UInt64?

    /// Makes an origin.
    public init(
        addressBlock: UInt64? = nil,
        installedAt: UnixSeconds? = nil,
        build: UInt64? = nil
    ) {
        self.addressBlock = addressBlock
        self.installedAt = installedAt
        self.build = build
    }
}

/// What tells a ride from the other rides of its trip.
public struct WitnessEvidence: Sendable, Equatable {
    /// The latest points.
    public var trace: WitnessTrace
    /// The rider's app.
    public var origin: WitnessOrigin

    /// Makes evidence.
    public init(_ trace: WitnessTrace = WitnessTrace(), origin: WitnessOrigin = WitnessOrigin()) {
        self.trace = trace
        self.origin = origin
    }
}

/// The checks that two rides fail together.
public struct WitnessFindings: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt8

    /// Wraps the bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// They report at the same seconds.
    public static let lockstep = WitnessFindings(rawValue: 1)
    /// They lie equally far from the shape, point by point.
    public static let residuals = WitnessFindings(rawValue: 2)
    /// Both move too evenly.
    public static let motion = WitnessFindings(rawValue: 4)
    /// The accuracy of neither ever changes.
    public static let accuracy = WitnessFindings(rawValue: 8)
    /// They went through the same places.
    public static let replay = WitnessFindings(rawValue: 16)
    /// Their apps are of one build and were installed in one second.
    public static let install = WitnessFindings(rawValue: 32)
    /// Their apps registered from one block of addresses.
    public static let address = WitnessFindings(rawValue: 64)

    /// The findings by the checks' names.
    public static let checks: [(finding: WitnessFindings, check: CheckID)] = [
        (.lockstep, .lockstep), (.residuals, .residuals), (.motion, .motion),
        (.accuracy, .constantAccuracy), (.replay, .replay), (.install, .install),
        (.address, .address),
    ]

    private static let movements: [WitnessFindings] = [.lockstep, .residuals, .motion, .accuracy]

    /// Whether the two count as two witnesses.
    ///
    /// Where their apps come from never decides: a family shares a network, and a class may install an
    /// app in one second. At least two checks of how they move must agree, or one replays the other.
    public var areIndependent: Bool {
        !contains(.replay) && Self.movements.count { contains($0) } < 2
    }

    /// What the traits alone say.
    init(_ one: WitnessTrace.Traits, _ other: WitnessTrace.Traits) {
        self = []
        let traits = one.union(other)
        if !traits.contains(.movedUnevenly) { insert(.motion) }
        if !traits.contains(.accuracyVaried) { insert(.accuracy) }
    }

    /// Compares two rides of one trip.
    public init(
        _ one: WitnessEvidence,
        _ other: WitnessEvidence,
        thresholds: Thresholds = Thresholds()
    ) {
        self.init(one.trace.traits, other.trace.traits)
        if one.trace.isInStep(with: other.trace, thresholds) { insert(.lockstep) }
        if one.trace.hasResiduals(of: other.trace, thresholds) { insert(.residuals) }
        if one.trace.isReplay(of: other.trace, thresholds) { insert(.replay) }
        if let block = one.origin.addressBlock, block == other.origin.addressBlock {
            insert(.address)
        }
        if let build = one.origin.build, build == other.origin.build,
            let time = one.origin.installedAt, time == other.origin.installedAt
        {
            insert(.install)
        }
    }
}
