internal import Database
internal import Web

/// A circle's events as a member sees them.
struct EventLook: Sendable {
    /// In the order of their numbers.
    let events: [PlaceEvent]

    /// Events after the phone's instant `$4` and after the number `$5`.
    static let look = Look(
        """
        look.id, look.seq, look.place_id, look.place_name, look.account_id, look.kind,
        look.timestamp_ms
        """,
        from: PlaceEvent.source + " AND e.timestamp_ms > $4 AND e.seq > $5",
        orderedBy: "look.seq",
        mark: "id",
        where: \.hasPlaces,
        read: { rows in
            EventLook(events: try rows.map { row in try PlaceEvent(row) })
        }
    )

    /// Writes `{events: […]}`.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.key("events")
        json.beginArray()
        for event in events { event.write(to: &json) }
        json.endArray()
        json.endObject()
    }
}
