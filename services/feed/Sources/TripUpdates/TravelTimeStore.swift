internal import Database
internal import Prediction
internal import Transit

/// The rows of what builders learned of travel times.
enum TravelTimeStore {
    /// Stretches in one statement.
    static let batch = 5000

    /// Writes what was learned; a row that was seen later stays.
    ///
    /// - Parameters:
    ///   - learned: By stretch, each once.
    ///   - horizon: Rows that were last seen before it go.
    ///   - connection: In a transaction.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func save(
        _ learned: [SegmentTimes.Learned],
        forgettingBefore horizon: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        // In the order of the key: two builders, one of them frozen until now, do not wait in a circle. A text
        // with NUL is no stop of any schedule that was loaded from a file.
        let rows = learned.filter(\.segment.isStorable).sorted { $0.segment < $1.segment }
        for start in stride(from: 0, to: rows.count, by: batch) {
            let part = rows[start..<min(start + batch, rows.count)]
            try connection.execute(
                """
                INSERT INTO feed.travel_times AS t (from_stop, to_stop, weight, deviation_sum,
                    seen_at)
                SELECT * FROM unnest($1::text[], $2::text[], $3::float8[], $4::float8[],
                    $5::timestamptz[])
                ON CONFLICT (from_stop, to_stop) DO UPDATE SET weight = excluded.weight,
                    deviation_sum = excluded.deviation_sum, seen_at = excluded.seen_at
                WHERE t.seen_at <= excluded.seen_at
                """,
                [
                    .textArray(part.map(\.segment.from.rawValue)),
                    .textArray(part.map(\.segment.to.rawValue)),
                    .doubleArray(part.map(\.weight)), .doubleArray(part.map(\.sum)),
                    .timestampArray(part.map(\.seenAt)),
                ]
            )
        }
        try connection.execute(
            "DELETE FROM feed.travel_times WHERE seen_at < $1",
            [.timestamp(horizon)]
        )
    }

    /// Reads what was learned and still counts.
    static func load(
        since horizon: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> [SegmentTimes.Learned] {
        let rows = try connection.query(
            """
            SELECT from_stop, to_stop, weight, deviation_sum, seen_at FROM feed.travel_times
            WHERE seen_at >= $1
            """,
            [.timestamp(horizon)]
        )
        var learned: [SegmentTimes.Learned] = []
        learned.reserveCapacity(rows.count)
        for row in rows {
            learned.append(
                SegmentTimes.Learned(
                    segment: SegmentTimes.Segment(
                        from: StopID(try row.text(0)),
                        to: StopID(try row.text(1))
                    ),
                    weight: try row.double(2),
                    sum: try row.double(3),
                    seenAt: try row.timestamp(4)
                )
            )
        }
        return learned
    }
}

extension SegmentTimes.Segment {
    fileprivate var isStorable: Bool {
        !from.rawValue.utf8.contains(0) && !to.rawValue.utf8.contains(0)
    }

    fileprivate static func < (left: Self, right: Self) -> Bool {
        (left.from, left.to) < (right.from, right.to)
    }
}
