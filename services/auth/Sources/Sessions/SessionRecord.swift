internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// What is stored about a session, without what only proves whose it is.
struct SessionRecord: Sendable {
    let kind: String
    let startedAt: UnixSeconds
    let usedAt: UnixSeconds
    let expiresAt: UnixSeconds
    /// When its tokens were signed, as far as they are kept: the traces of each time it was used.
    var signedAt: [UnixSeconds] = []

    /// Every session of an account, the oldest first.
    ///
    /// - Throws: `DatabaseError` when the statement fails.
    static func all(
        of account: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [SessionRecord] {
        let rows = try connection.query(
            """
            SELECT s.id, s.kind, s.started_at, s.used_at, s.expires_at, t.issued_at
            FROM auth.sessions s LEFT JOIN auth.session_tokens t ON t.session_id = s.id
            WHERE s.account_id = $1 ORDER BY s.started_at, s.id, t.issued_at
            """,
            [.uuid(account)]
        )
        var records: [SessionRecord] = []
        var last: UniqueID?
        for row in rows {
            let id = try row.uuid("id")
            if id != last {
                records.append(
                    SessionRecord(
                        kind: try row.text("kind"),
                        startedAt: try row.timestamp("started_at"),
                        usedAt: try row.timestamp("used_at"),
                        expiresAt: try row.timestamp("expires_at")
                    )
                )
                last = id
            }
            if let signedAt = try row.optionalTimestamp("issued_at") {
                records[records.count - 1].signedAt.append(signedAt)
            }
        }
        return records
    }
}

extension JSONWriter {
    /// A session as `GET /api/me/export` shows it.
    mutating func session(_ session: SessionRecord) {
        beginObject()
        member("kind", session.kind)
        member("started_at", Timestamps.text(ofSeconds: session.startedAt))
        member("used_at", Timestamps.text(ofSeconds: session.usedAt))
        member("expires_at", Timestamps.text(ofSeconds: session.expiresAt))
        key("tokens_signed_at")
        beginArray()
        for time in session.signedAt { value(Timestamps.text(ofSeconds: time)) }
        endArray()
        endObject()
    }
}
