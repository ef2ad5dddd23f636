internal import Database
internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// What an installation may ask about itself: `GET /api/v1/rider/me/export` and
/// `DELETE /api/v1/rider/me` (spec section 0, architecture section 12).
struct RiderSelf: Sendable {
    /// How long an export may take: a page is read in some 50 ms.
    static let exportDeadline = Duration.seconds(14)

    let database: RequestDatabase
    let verifiers: VerifierQuestions
    let erasures: Erasures
    let keys: KeyRing
    let now: @Sendable () -> UnixSeconds

    var endpoints: [Endpoint] {
        [
            Endpoint(
                .get,
                "/api/v1/rider/me/export",
                access: .roles([.rider]),
                deadline: Self.exportDeadline,
                handler: export
            ),
            Endpoint(
                .delete,
                "/api/v1/rider/me",
                access: .roles([.rider]),
                handler: delete
            ),
        ]
    }

    // MARK: - Erasure

    private func delete(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try riderID(request)
        let now = now()
        let (keys, erasures) = (keys, erasures)
        let erasure = try await database.transaction(request) { connection throws(DatabaseError) in
            let rider = try RiderRows.rider(id, on: connection)
            return try erasures.begin(
                .rider,
                subject: id,
                successor: rider.flatMap { keys.pseudonym(ofInstallation: $0.installationID) },
                tokensUntil: rider?.lastTokenEnd(at: now)
                    ?? now + RegisterRider.longestLifetime.components.seconds,
                // Not before a token that another process has dated by a clock that is ahead.
                at: max(now, rider?.lastSeenAt ?? now),
                on: connection
            )
        }
        return .erasure(isDone: await erasures.carryOut(erasure))
    }

    // MARK: - Export

    private func export(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try riderID(request)
        let now = now()
        let limit = ExportLimit("rider_export", keys: keys)
        let (refusal, rider) = try await database.transaction(request) {
            connection throws(DatabaseError) in
            let refusal = try limit.refusal(of: id, at: now, on: connection)
            return (refusal, try RiderRows.rider(id, on: connection))
        }
        if let refusal { throw refusal }
        guard let rider else {
            throw HTTPError(
                status: 401,
                code: "rider.unknown",
                message: "unknown rider",
                challenge: .anotherBearer
            )
        }
        var body = Array("{\"rider\":".utf8)
        body += rider.json
        body += Array(",\"reputation\":".utf8)
        let standing = try await page(0, of: id, at: now)
        body += standing.isEmpty ? Array("null".utf8) : standing
        body += Array(",\"rides\":[".utf8)
        var number = 1
        while true {
            let rides = try await page(number, of: id, at: now)
            if rides.isEmpty { break }
            if number > 1 { body.append(UInt8(ascii: ",")) }
            body += rides
            number += 1
        }
        body += Array("]}".utf8)
        return .json(bytes: body).notStored()
    }

    private func page(
        _ number: Int,
        of id: UniqueID,
        at now: UnixSeconds
    ) async throws(HTTPError) -> [UInt8] {
        let question = ExportRider(riderID: id, receivedAt: now, page: number)
        guard case .exported(let bytes) = await verifiers.answer(to: .exportRider(question)) else {
            throw HTTPError(
                status: 503,
                code: "verification.unavailable",
                message: "rides cannot be read now, try again",
                retryAfter: 2
            )
        }
        return bytes
    }

    // MARK: - Details

    private func riderID(_ request: HTTPRequest) throws(HTTPError) -> UniqueID {
        guard let id = request.principal.flatMap({ UniqueID($0.subject) }) else {
            throw HTTPError.unauthorized
        }
        return id
    }
}

extension RiderRows.Rider {
    /// What auth stores about the rider, as a JSON object.
    fileprivate var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("rider_id", id.description)
        json.member("installation_id", installationID.description)
        json.member("platform", platform)
        json.member("app_id", appID)
        json.member("app_version", appVersion)
        json.member("created_at", Timestamps.text(ofSeconds: createdAt))
        json.member("last_seen_at", Timestamps.text(ofSeconds: lastSeenAt))
        json.member("tokens_until", tokensUntil.map { Timestamps.text(ofSeconds: $0) })
        json.endObject()
        return json.bytes
    }
}
