internal import Database
internal import Transit
internal import Web

/// The places that members share into a circle (spec 1.6).
enum PlaceStore {
    /// Files a place, or replaces the one of the same owner and number, which makes it the newest.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - now: Our clock, POSIX milliseconds.
    ///   - pass: Of the owner, with the membership held alone: places are counted by owner.
    /// - Returns: The row's id, by which everyone knows the place.
    /// - Throws: `DatabaseError`.
    static func put(
        _ place: SharedPlace,
        at now: Int64,
        _ pass: Pass
    ) throws(DatabaseError) -> UniqueID {
        let id = try pass.connection.query(
            """
            INSERT INTO groups.places AS p (id, group_id, owner_id, client_place_id, name,
                radius_meters, payload, created_at_ms, turn)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, nextval('groups.turn'))
            ON CONFLICT (group_id, owner_id, client_place_id) DO UPDATE SET name = excluded.name,
                radius_meters = excluded.radius_meters, payload = excluded.payload,
                created_at_ms = excluded.created_at_ms, turn = excluded.turn
            RETURNING id
            """,
            [
                .uuid(.random()), .uuid(pass.groupID), .uuid(pass.accountID),
                .int64(place.clientPlaceID), .text(place.name), .double(place.radiusMeters),
                .text(place.payload), .int64(now),
            ]
        ).one().uuid("id")
        try pass.connection.execute(
            """
            DELETE FROM groups.places WHERE id IN (
                SELECT id FROM groups.places WHERE group_id = $1 AND owner_id = $2
                ORDER BY turn DESC OFFSET $3)
            """,
            [.uuid(pass.groupID), .uuid(pass.accountID), .int(SharedPlace.limit)]
        )
        return id
    }

    /// The circle of the place `$2`, which the account owns.
    ///
    /// It is sought among the account's own places, never by its id: a place of others takes as long
    /// as one that does not exist.
    private static let circle = Survey(
        .members,
        """
        SELECT p.group_id FROM seat CROSS JOIN LATERAL (SELECT id, group_id FROM groups.places
            WHERE group_id = seat.group_id AND owner_id = seat.account_id OFFSET 0) p
        WHERE p.id = $2
        """,
        read: { rows throws(DatabaseError) in try rows.first?.uuid("group_id") }
    )

    /// Finds the circle of a place that the account owns.
    ///
    /// - Throws: 404 for a place of others and for one that does not exist; `DatabaseError`.
    static func groupID(
        of place: UniqueID,
        ownedBy account: UniqueID,
        on connection: Connection
    ) throws -> UniqueID {
        let group = try Gate.survey(circle, of: [account], [.uuid(place)], on: connection)
        guard let group else { throw HTTPError.placeNotFound }
        return group
    }

    /// Deletes a place of the pass's account.
    ///
    /// - Throws: 404 when it went meanwhile; `DatabaseError`.
    static func delete(_ place: UniqueID, _ pass: Pass) throws {
        let deleted = try pass.connection.execute(
            "DELETE FROM groups.places WHERE id = $1 AND group_id = $2 AND owner_id = $3",
            [.uuid(place), .uuid(pass.groupID), .uuid(pass.accountID)]
        )
        guard deleted == 1 else { throw HTTPError.placeNotFound }
    }

    /// The name of a place of the pass's circle.
    ///
    /// - Throws: 404 for a place that is not in this circle; `DatabaseError`.
    static func name(of place: UniqueID, _ pass: Pass) throws -> String {
        let row = try pass.connection.query(
            "SELECT name FROM groups.places WHERE id = $1 AND group_id = $2",
            [.uuid(place), .uuid(pass.groupID)]
        ).first
        guard let row else { throw HTTPError.placeNotFound }
        return try row.text("name")
    }
}
