internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// `GET /api/v1/admin/status`: whether the feed does its work (spec 1.8).
struct StatusEndpoint: Sendable {
    let database: FeedDatabase
    let tracker: Tracker
    let now: @Sendable () -> UnixSeconds
    /// A monotonic reading at the start, in nanoseconds.
    let startedAt: UInt64

    var endpoint: Endpoint {
        Endpoint(.get, "/api/v1/admin/status", access: .admins, handler: status)
    }

    /// What is known without the database is answered in any case.
    private func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        let counts = tracker.counts(at: now())
        let uptime = (Timestamps.monotonicNanoseconds() - startedAt) / 1_000_000_000
        let skewed = try? await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try connection.query(
                "SELECT coalesce(sum(skewed_reports), 0)::bigint FROM feed.drivers"
            ).one().int(0)
        }
        var json = JSONWriter()
        json.beginObject()
        json.member("status", skewed == nil ? "degraded" : "ok")
        json.member("uptime_seconds", uptime)
        json.member("active_vehicles", counts.active)
        json.member("total_vehicles_tracked", counts.total)
        if let lastUpdate = counts.lastUpdate {
            json.member("last_update", Timestamps.text(ofSeconds: lastUpdate))
        }
        json.member("skewed_reports", skewed)
        json.endObject()
        return .json(bytes: json.bytes)
    }
}
