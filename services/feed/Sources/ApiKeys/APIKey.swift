internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// A consumer's key to the feed, without the key itself (spec 0).
struct APIKey: Sendable {
    /// Characters of a name.
    static let nameLimit = 100

    let id: Int64
    let name: String
    let isActive: Bool
    /// To the minute; nil when it was never used.
    let lastUsedAt: UnixSeconds?
    let createdAt: UnixSeconds

    /// Reads a row of `id, name, active, last_used_at, created_at`.
    init(_ row: Row) throws(DatabaseError) {
        id = try row.int64("id")
        name = try row.text("name")
        isActive = try row.bool("active")
        lastUsedAt = try row.optionalTimestamp("last_used_at")
        createdAt = try row.timestamp("created_at")
    }

    /// Writes it as the next value.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("id", id)
        json.member("name", name)
        json.member("active", isActive)
        json.member("last_used_at", lastUsedAt.map { Timestamps.text(ofSeconds: $0) })
        json.member("created_at", Timestamps.text(ofSeconds: createdAt))
        json.endObject()
    }
}
