internal import Messages
internal import Web

extension MemberFix {
    /// The largest accuracy that is kept, in metres; another one is stored as unknown (spec 1.1).
    static let maximumAccuracyMeters = 100_000.0

    /// Reads and checks `{latitude, longitude, accuracyMeters?, timestampMs?}`.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - now: Our clock, POSIX milliseconds.
    /// - Throws: 400 for what is no position.
    init(_ body: JSONObject, now: Int64) throws(HTTPError) {
        let latitude = try body.double("latitude")
        let longitude = try body.double("longitude")
        let accuracy = try body.double("accuracyMeters")
        let timestamp = try body.timestamp(now: now)
        guard let latitude, let longitude else { throw .coordinatesOutOfRange }
        let fix = MemberFix(
            latitude: latitude,
            longitude: longitude,
            accuracyMeters: accuracy,
            timestampMilliseconds: timestamp,
            receivedAtMilliseconds: now
        )
        guard let checked = fix.checked else { throw .coordinatesOutOfRange }
        self = checked
    }

    /// The fix with an accuracy that can be kept; nil when it is no position.
    var checked: MemberFix? {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        var fix = self
        fix.accuracyMeters = accuracyMeters.flatMap {
            (0...Self.maximumAccuracyMeters).contains($0) ? $0 : nil
        }
        return fix
    }
}
