internal import Database
internal import Messages
internal import Telemetry
internal import Transit
internal import Web

/// `GET /api/v1/admin/status`: whether feed and verifiers do their work (spec 1.8).
struct StatusEndpoint: Sendable {
    let database: FeedDatabase
    let tracker: Tracker
    let verifiers: VerifierRollCall
    let now: @Sendable () -> UnixSeconds
    /// A monotonic reading at the start, in nanoseconds.
    let startedAt: UInt64

    var endpoint: Endpoint {
        Endpoint(.get, "/api/v1/admin/status", access: .admins, handler: status)
    }

    /// What is known without the database is answered in any case.
    private func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        let now = now()
        async let answers = verifiers.call(at: now, trace: request.trace)
        let skewed = await skewedReports(request)
        let counts = tracker.counts(at: now)
        let uptime = (Timestamps.monotonicNanoseconds() - startedAt) / 1_000_000_000
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
        json.key("verifiers")
        json.beginArray()
        for answer in await answers { Self.write(answer, to: &json) }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }

    /// Reports whose time was more than a minute off, of all drivers; nil without the database.
    private func skewedReports(_ request: HTTPRequest) async -> Int? {
        try? await database.transaction(for: request) { connection throws(DatabaseError) in
            try connection.query(
                "SELECT coalesce(sum(skewed_reports), 0)::bigint FROM feed.drivers"
            ).one().int(0)
        }
    }

    private static func write(_ answer: VerifierRollCall.Answer, to json: inout JSONWriter) {
        json.beginObject()
        json.member("instance", answer.instance)
        json.member("answered", answer.status != nil)
        if let status = answer.status {
            json.member("owned_slots", status.ownedSlots)
            json.member("active_rides", status.activeRides)
            json.member("publishable_trips", status.publishableTrips)
        }
        json.endObject()
    }
}
