internal import Database
internal import Transit
internal import Web

/// The newest events of each circle, numbered by us in the order of their commits.
enum EventStore {
    /// Events of one circle; the lowest numbers go.
    static let limit: Int64 = 500

    /// What became of a report.
    struct Recorded: Sendable {
        let event: PlaceEvent
        /// False for a repeat, which nobody is told of again.
        let isNew: Bool
    }

    /// Files an event, unless the phone's own id says that it was filed already; what a paused
    /// member reports is thrown away (decision 4).
    ///
    /// - Parameters:
    ///   - report: The event.
    ///   - pass: Of the member who moved.
    ///   - group: The circle, locked: who reads up to a number has read all below it.
    /// - Returns: The event; nil when it was thrown away.
    /// - Throws: 404 for a place that is not in the circle; `DatabaseError`.
    static func record(
        _ report: ReportedEvent,
        _ pass: Pass,
        in group: LockedGroup
    ) throws -> Recorded? {
        if let clientEventID = report.clientEventID,
            let first = try EventAnswers.first(to: clientEventID, pass)
        {
            return Recorded(event: first, isNew: false)
        }
        guard pass.shares(receivedAt: report.receivedAtMilliseconds) else { return nil }
        let placeName = try PlaceStore.name(of: report.placeID, pass)
        let sequence = try pass.connection.query(
            """
            UPDATE groups.groups SET event_seq = event_seq + 1 WHERE id = $1 RETURNING event_seq
            """,
            [.uuid(group.id)]
        ).one().int64("event_seq")
        let event = PlaceEvent(
            id: .random(),
            sequence: sequence,
            placeID: report.placeID,
            placeName: placeName,
            accountID: pass.accountID,
            kind: report.kind,
            timestampMilliseconds: report.timestampMilliseconds
        )
        try insert(event, pass)
        if let clientEventID = report.clientEventID {
            try EventAnswers.keep(event, for: clientEventID, pass)
        }
        try pass.connection.execute(
            "DELETE FROM groups.events WHERE group_id = $1 AND seq <= $2",
            [.uuid(group.id), .int64(sequence - limit)]
        )
        return Recorded(event: event, isNew: true)
    }

    private static func insert(_ event: PlaceEvent, _ pass: Pass) throws(DatabaseError) {
        try pass.connection.execute(
            """
            INSERT INTO groups.events
                (group_id, seq, id, account_id, place_id, kind, timestamp_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
            [
                .uuid(pass.groupID), .int64(event.sequence), .uuid(event.id),
                .uuid(pass.accountID), .uuid(event.placeID), .text(event.kind.rawValue),
                .int64(event.timestampMilliseconds),
            ]
        )
    }
}
