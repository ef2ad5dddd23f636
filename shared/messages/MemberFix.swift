public import Transit

/// Where a member of a group was last.
public struct MemberFix: Equatable, Sendable {
    /// WGS-84 degrees.
    public var latitude, longitude: Double
    /// Metres; nil when unknown.
    public var accuracyMeters: Double?
    /// The phone's clock, POSIX milliseconds; shown to others and never used to order anything.
    public var timestampMilliseconds: Int64
    /// Our clock when the fix came in, POSIX milliseconds.
    public var receivedAtMilliseconds: Int64

    /// Makes a fix.
    public init(
        latitude: Double,
        longitude: Double,
        accuracyMeters: Double? = nil,
        timestampMilliseconds: Int64,
        receivedAtMilliseconds: Int64
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.accuracyMeters = accuracyMeters
        self.timestampMilliseconds = timestampMilliseconds
        self.receivedAtMilliseconds = receivedAtMilliseconds
    }
}

/// A fix and whose it is.
public struct AccountFix: Equatable, Sendable {
    /// The member.
    public var accountID: UniqueID
    /// Where they are.
    public var fix: MemberFix

    /// Makes a member's fix.
    public init(accountID: UniqueID, fix: MemberFix) {
        self.accountID = accountID
        self.fix = fix
    }
}
