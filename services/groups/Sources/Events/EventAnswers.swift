internal import Database
internal import Transit
internal import Web

/// What members were answered to the events that their phones gave an id (decision 9).
///
/// A repeat gets it again, also when the place is gone, the event is no more among the newest of the
/// circle, or the member pauses meanwhile. What was thrown away because of a pause has no answer to
/// repeat.
enum EventAnswers {
    /// Answers of one member in one circle; the oldest go.
    static let limit = EventStore.limit

    /// The first answer to the phone's own id.
    static func first(
        to clientEventID: UniqueID,
        _ pass: Pass
    ) throws(DatabaseError) -> PlaceEvent? {
        let row = try pass.connection.query(
            """
            SELECT id, seq, place_id, place_name, account_id, kind, timestamp_ms
            FROM groups.event_answers
            WHERE group_id = $1 AND account_id = $2 AND client_event_id = $3
            """,
            [.uuid(pass.groupID), .uuid(pass.accountID), .uuid(clientEventID)]
        ).first
        guard let row else { return nil }
        return try PlaceEvent(row)
    }

    /// Keeps an answer.
    ///
    /// - Parameters:
    ///   - event: What was answered.
    ///   - clientEventID: To which id of the phone.
    ///   - pass: Of the member, behind the group's lock.
    /// - Throws: `DatabaseError`.
    static func keep(
        _ event: PlaceEvent,
        for clientEventID: UniqueID,
        _ pass: Pass
    ) throws(DatabaseError) {
        try pass.connection.execute(
            """
            INSERT INTO groups.event_answers (group_id, account_id, client_event_id, seq, id,
                place_id, place_name, kind, timestamp_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
            [
                .uuid(pass.groupID), .uuid(pass.accountID), .uuid(clientEventID),
                .int64(event.sequence), .uuid(event.id), .uuid(event.placeID),
                .text(event.placeName), .text(event.kind.rawValue),
                .int64(event.timestampMilliseconds),
            ]
        )
        try pass.connection.execute(
            """
            DELETE FROM groups.event_answers WHERE group_id = $1 AND account_id = $2 AND seq <= (
                SELECT seq FROM groups.event_answers WHERE group_id = $1 AND account_id = $2
                ORDER BY seq DESC OFFSET $3 LIMIT 1)
            """,
            [.uuid(pass.groupID), .uuid(pass.accountID), .int64(limit)]
        )
    }
}
