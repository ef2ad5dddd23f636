internal import Database
internal import Transit
internal import Web

/// An arrival at a place of a circle or a departure, as members see it (spec 1.5, decision 9).
struct PlaceEvent: Sendable, Equatable {
    /// What happened.
    enum Kind: String, Sendable, CaseIterable {
        case arrive = "Arrive"
        case depart = "Depart"

        /// The name in JSON.
        var name: String { rawValue.lowercased() }

        /// Reads what a phone sent, in any case.
        init?(sent text: String) {
            guard let kind = Self.allCases.first(where: { $0.name == text.lowercased() }) else {
                return nil
            }
            self = kind
        }
    }

    let id: UniqueID
    /// Its number in the circle, the cursor of the feed.
    let sequence: Int64
    let placeID: UniqueID
    /// Empty when the place is gone.
    let placeName: String
    let accountID: UniqueID
    let kind: Kind
    /// The phone's clock, POSIX milliseconds.
    let timestampMilliseconds: Int64

    /// The columns that ``init(_:)`` reads, of events of the group `$1`.
    static let source = """
        SELECT e.id, e.seq, e.place_id, COALESCE(p.name, '') AS place_name, e.account_id, e.kind,
            e.timestamp_ms
        FROM groups.events e
        LEFT JOIN groups.places p ON p.id = e.place_id AND p.group_id = e.group_id
        WHERE e.group_id = $1
        """

    /// Writes the event object.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("id", id.description)
        json.member("seq", sequence)
        json.member("placeId", placeID.description)
        json.member("placeName", placeName)
        json.member("riderId", accountID.description)
        json.member("kind", kind.name)
        json.member("timestampMs", timestampMilliseconds)
        json.endObject()
    }
}

extension PlaceEvent {
    /// Reads the columns of ``source``.
    init(_ row: Row) throws(DatabaseError) {
        guard let kind = Kind(rawValue: try row.text("kind")) else {
            throw DatabaseError(.statement, "a row of groups.events is of no known kind")
        }
        self.init(
            id: try row.uuid("id"),
            sequence: try row.int64("seq"),
            placeID: try row.uuid("place_id"),
            placeName: try row.text("place_name"),
            accountID: try row.uuid("account_id"),
            kind: kind,
            timestampMilliseconds: try row.int64("timestamp_ms")
        )
    }
}
