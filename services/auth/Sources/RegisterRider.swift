internal import Database
internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// `POST /api/v1/rider/register`: a token for an installation of a rider's app (spec 2.1).
struct RegisterRider: Sendable {
    /// Characters of `app_id` and `app_version`.
    static let textLimit = 100
    /// The longest `RIDER_JWT_TTL` that may be set: no rider's token is valid for longer.
    static let longestLifetime = Duration.seconds(10 * 8760 * 3600)

    let database: Database
    let signer: TokenSigner
    let keys: KeyRing
    let revocations: Revocations
    let limiter: AddressLimiter
    let lifetime: Duration
    let now: @Sendable () -> UnixSeconds
    let logger: Logger

    var endpoint: Endpoint {
        Endpoint(.post, "/api/v1/rider/register", access: .anyone, handler: register)
    }

    private func register(_ request: HTTPRequest) async throws -> HTTPResponse {
        let now = now()
        try await count(request, at: now)
        let installation = try Installation(try request.jsonObject())
        let pseudonym = keys.pseudonym(ofInstallation: installation.id)
        let (revocations, lifetime) = (revocations, lifetime)
        let block = AddressBlock(request.clientAddress).map { block in
            signer.keyedHash(of: block.description, purpose: "address-block")
        }
        let registered = try await stored(request) { connection throws(DatabaseError) in
            let rider = try installation.upsert(pseudonym, at: now, on: connection)
            // Behind the row's lock, which an erasure takes first.
            if let pseudonym, try RiderRows.isBeingErased(pseudonym, on: connection) {
                connection.rollBackAtEnd()
                return (rider, nil as TokenClaims?)
            }
            let subject = rider.id.description
            var claims = TokenClaims(
                subject: subject,
                role: .rider,
                issuedAt: try revocations.signingTime(for: subject, at: now, on: connection),
                lifetime: lifetime,
                installation: InstallationFacts(
                    addressBlock: block,
                    installedAt: rider.installedAt,
                    build: installation.build
                )
            )
            // However far ahead it had to be dated, it counts no longer than another.
            claims.expiresAt = now + lifetime.components.seconds
            try RiderRows.noteToken(of: rider.id, until: claims.expiresAt, on: connection)
            return (rider, claims)
        }
        guard let claims = registered.1 else {
            throw HTTPError(
                status: 503,
                code: "rider.being_erased",
                message: "erasure under way, try again later",
                retryAfter: 5
            )
        }
        return self.answer(registered.0, claims)
    }

    private func count(_ request: HTTPRequest, at now: UnixSeconds) async throws {
        let caller = request.clientAddress.callerNetwork
        let limiter = limiter
        if let seconds = limiter.knownWait(of: caller, at: now) {
            throw HTTPError.tooManyRegistrations(seconds)
        }
        let answer = try await stored(request) { connection throws(DatabaseError) in
            try limiter.attempt(by: caller, at: now, on: connection)
        }
        if case .refused(let seconds) = answer { throw HTTPError.tooManyRegistrations(seconds) }
    }

    private func answer(_ rider: Rider, _ claims: TokenClaims) -> HTTPResponse {
        let token = signer.sign(claims)
        var json = JSONWriter()
        json.beginObject()
        json.member("rider_id", rider.id.description)
        json.member("token", token)
        json.member("report_interval_seconds", RiderLimits.reportIntervalSeconds)
        json.member("max_batch_size", RiderLimits.batchSize)
        json.endObject()
        return .json(bytes: json.bytes, status: rider.isNew ? 201 : 200).notStored()
    }

    /// Runs database work; a database that is away is 503, so that the phone tries again.
    private func stored<Value: Sendable>(
        _ request: HTTPRequest,
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws -> Value {
        do throws(DatabaseError) {
            return try await database.transaction(body)
        } catch {
            logger.error(
                "registration failed in the database",
                ["error": .text(error.description), "trace.id": .text("\(request.trace)")]
            )
            guard error.kind != .statement || error.isRetryable else { throw HTTPError.failure }
            throw HTTPError(
                status: 503,
                code: "database.unavailable",
                message: "registration unavailable, try again",
                retryAfter: 2
            )
        }
    }
}

/// An installation of a rider's app, as it describes itself.
private struct Installation: Sendable {
    let id: UniqueID
    let platform: String
    let appID: String
    let appVersion: String

    /// Reads and checks a body, in the order of spec 2.1.
    init(_ body: JSONObject) throws(HTTPError) {
        let installation = try body.string("installation_id") ?? ""
        platform = try body.string("platform") ?? ""
        appID = try body.string("app_id") ?? ""
        appVersion = try body.string("app_version") ?? ""
        let attestation = body.value("attestation")
        try body.finish()
        guard let id = UniqueID(installation) else {
            throw .badRequest("installation_id must be a UUID", code: "installation_id.invalid")
        }
        guard ["ios", "android", "other"].contains(platform) else {
            throw .badRequest(
                "platform must be one of ios, android, other",
                code: "platform.invalid"
            )
        }
        let isTooLong = [appID, appVersion].contains {
            $0.unicodeScalars.count > RegisterRider.textLimit
        }
        guard !isTooLong else {
            throw .badRequest(
                "app_id and app_version must be at most \(RegisterRider.textLimit) characters",
                code: "app.too_long"
            )
        }
        guard attestation == nil || attestation == .null else {
            throw .badRequest("attestation not supported", code: "attestation.unsupported")
        }
        self.id = id
    }

    /// Files the installation, or refreshes what is known of it.
    ///
    /// A new one gets a random id, unless it was blocked when its rider was forgotten: then its keyed
    /// hash, under which the verifier keeps it blocked. That is asked behind the insertion, which
    /// waits for an erasure that is being finished.
    func upsert(
        _ pseudonym: UniqueID?,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Rider {
        let row = try connection.query(
            """
            INSERT INTO auth.riders AS r (id, installation_id, platform, app_id, app_version,
                created_at, last_seen_at)
            VALUES ($1, $2, $3, $4, $5, $6, $6)
            ON CONFLICT (installation_id) DO UPDATE SET app_version = excluded.app_version,
                last_seen_at = GREATEST(r.last_seen_at, excluded.last_seen_at)
            RETURNING id, created_at, (xmax = 0) AS is_new
            """,
            [
                .uuid(.random()), .uuid(id), .text(platform), .text(appID), .text(appVersion),
                .timestamp(now),
            ]
        ).one()
        let rider = Rider(
            id: try row.uuid("id"),
            isNew: try row.bool("is_new"),
            installedAt: try row.timestamp("created_at")
        )
        guard rider.isNew, let pseudonym, try RiderRows.isBlocked(pseudonym, on: connection) else {
            return rider
        }
        try connection.execute(
            "UPDATE auth.riders SET id = $2 WHERE id = $1",
            [.uuid(rider.id), .uuid(pseudonym)]
        )
        return Rider(id: pseudonym, isNew: true, installedAt: rider.installedAt)
    }

    /// The same for the same release of the same app on the same platform.
    var build: UInt64 { FNV1a.hash("\(platform)\n\(appID)\n\(appVersion)".utf8) }
}

extension HTTPError {
    /// 429 for registrations of riders and sign-ups of members (spec 2.1).
    static func tooManyRegistrations(_ seconds: Int) -> HTTPError {
        HTTPError(
            status: 429,
            code: "rate.registrations",
            message: "too many registrations, try again later",
            retryAfter: seconds
        )
    }
}

/// The pseudonym of an installation.
private struct Rider: Sendable {
    let id: UniqueID
    let isNew: Bool
    let installedAt: UnixSeconds
}
