internal import Database
internal import Transit

/// The statements about drivers that are not reports.
enum DriverStore {
    /// Keeps the name that auth gave.
    static func name(
        _ id: UniqueID,
        _ name: String,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            INSERT INTO feed.drivers AS d (id, name) VALUES ($1, $2)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name
            WHERE d.name IS DISTINCT FROM excluded.name
            """,
            [.uuid(id), .text(name)]
        )
    }
}
