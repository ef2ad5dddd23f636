internal import Database
internal import Transit
internal import Web

/// A circle's places as a member sees them.
struct PlaceLook: Sendable {
    /// A place and whose it is.
    struct Entry: Sendable {
        let id: UniqueID
        let ownerID: UniqueID
        let name: String
        let radiusMeters: Double
        let createdAtMilliseconds: Int64
        let payload: String
    }

    /// Newest first.
    let entries: [Entry]

    /// Every place of the circle.
    static let look = Look(
        """
        look.id, look.owner_id, look.name, look.radius_meters, look.created_at_ms, look.payload
        """,
        from: "SELECT * FROM groups.places WHERE group_id = $1",
        orderedBy: "look.turn DESC",
        mark: "id",
        where: \.hasPlaces,
        read: { rows in
            PlaceLook(
                entries: try rows.map { row in
                    Entry(
                        id: try row.uuid("id"),
                        ownerID: try row.uuid("owner_id"),
                        name: try row.text("name"),
                        radiusMeters: try row.double("radius_meters"),
                        createdAtMilliseconds: try row.int64("created_at_ms"),
                        payload: try row.text("payload")
                    )
                }
            )
        }
    )

    /// Writes `{places: [{id, ownerId, name, radiusMeters, createdAtMs, place}]}`.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.key("places")
        json.beginArray()
        for entry in entries {
            json.beginObject()
            json.member("id", entry.id.description)
            json.member("ownerId", entry.ownerID.description)
            json.member("name", entry.name)
            json.member("radiusMeters", entry.radiusMeters)
            json.member("createdAtMs", entry.createdAtMilliseconds)
            json.key("place")
            json.value(json: entry.payload.utf8)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
