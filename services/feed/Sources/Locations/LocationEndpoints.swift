internal import Database
internal import Transit
internal import Web

/// Where drivers report (spec 1.6, spec 0).
struct LocationEndpoints: Sendable {
    /// Bytes of a body (spec 1.1).
    static let bodyLimit = 1 << 20

    let database: FeedDatabase
    let writer: ReportWriter
    let now: @Sendable () -> UnixSeconds

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(
                .post,
                "/api/v1/locations",
                access: .staff,
                bodyLimit: Self.bodyLimit,
                handler: report
            ),
            Endpoint(
                .post,
                "/api/v1/locations/batch",
                access: .staff,
                bodyLimit: Self.bodyLimit,
                handler: reportBatch
            ),
        ]
    }

    private func report(_ request: HTTPRequest) async throws -> HTTPResponse {
        let driverID = try request.accountID
        let now = now()
        let report = try DriverReport(try request.jsonObject(), now: now, age: .live)
        let isSkewed = report.isSkewed(receivedAt: now, age: .live)
        _ = try await store(
            ReportWork(
                driverID: driverID,
                allowance: .report,
                reports: [report],
                skewed: isSkewed ? 1 : 0,
                receivedAt: now
            ),
            request
        )
        var json = JSONWriter()
        json.beginObject()
        json.member("status", "ok")
        if isSkewed { json.member("skewed", true) }
        json.endObject()
        return .json(bytes: json.bytes, status: 201)
    }

    private func reportBatch(_ request: HTTPRequest) async throws -> HTTPResponse {
        let driverID = try request.accountID
        let now = now()
        let batch = try LocationBatch(try request.jsonObject(), now: now)
        var stored = ReportWork.Stored(accepted: 0, ignored: 0)
        if !batch.reports.isEmpty {
            let skewed = batch.reports.count { $0.isSkewed(receivedAt: now, age: .kept) }
            stored = try await store(
                ReportWork(
                    driverID: driverID,
                    allowance: .batch,
                    reports: batch.reports,
                    skewed: skewed,
                    receivedAt: now
                ),
                request
            )
        }
        var json = JSONWriter()
        json.beginObject()
        json.member("accepted", stored.accepted)
        json.member("ignored", stored.ignored)
        json.key("rejected")
        json.beginArray()
        for rejection in batch.rejections {
            json.beginObject()
            json.member("index", rejection.index)
            json.member("error", rejection.sentence)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }

    /// Stores reports; acknowledged after the commit.
    private func store(
        _ work: ReportWork,
        _ request: HTTPRequest
    ) async throws -> ReportWork.Stored {
        do {
            return try await writer.write(work)
        } catch let error as DatabaseError {
            let refusal = database.refusal(of: error, request)
            guard refusal == .failure else { throw refusal }
            throw HTTPError(status: 500, code: "internal", message: "failed to save location")
        }
    }
}
