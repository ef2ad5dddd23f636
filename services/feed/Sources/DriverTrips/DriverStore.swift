internal import Database
internal import Transit
internal import Web

/// The rows of drivers, which everything that is stored for one begins with.
enum DriverStore {
    /// How an erased driver is kept in mind, of an id in SQL; not the id itself.
    static func digest(_ id: String) -> String { "substring(sha256(uuid_send(\(id))) FOR 16)" }

    /// Locks the rows of drivers, made where missing, with what may be charged to them.
    ///
    /// Whoever stores something for a driver comes through here first, so that an erasure waits for
    /// it or it meets the erasure's mark.
    ///
    /// - Parameters:
    ///   - drivers: Whose rows.
    ///   - connection: In a transaction.
    /// - Returns: The allowances; a driver who was erased is absent, and no row is made.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func enter(
        _ drivers: Set<UniqueID>,
        on connection: Connection
    ) throws(DatabaseError) -> [UniqueID: DriverCharge] {
        let ids = SQLValue.uuidArray(drivers.sorted())
        try connection.execute(
            """
            INSERT INTO feed.drivers (id) SELECT id FROM unnest($1::uuid[]) AS n (id)
            WHERE NOT EXISTS (SELECT FROM feed.erased_drivers WHERE digest = \(digest("n.id")))
            ORDER BY id ON CONFLICT DO NOTHING
            """,
            [ids]
        )
        let rows = try connection.query(
            """
            SELECT id, reported_at, batched_at FROM feed.drivers d WHERE id = ANY ($1::uuid[])
                AND NOT EXISTS (SELECT FROM feed.erased_drivers WHERE digest = \(digest("d.id")))
            ORDER BY id FOR UPDATE OF d
            """,
            [ids]
        )
        var charges: [UniqueID: DriverCharge] = [:]
        for row in rows {
            let id = try row.uuid("id")
            charges[id] = DriverCharge(
                driverID: id,
                lastReport: try row.optionalTimestamp("reported_at"),
                lastBatch: try row.optionalTimestamp("batched_at")
            )
        }
        let erased = drivers.filter { charges[$0] == nil }
        if !erased.isEmpty {
            // An erasure that committed between the two statements left the row that the first made.
            try connection.execute(
                "DELETE FROM feed.drivers WHERE id = ANY ($1::uuid[])",
                [.uuidArray(erased.sorted())]
            )
        }
        return charges
    }

    /// Keeps the name that auth gave.
    ///
    /// - Parameters:
    ///   - id: The driver.
    ///   - name: What auth calls the driver; nil keeps what is known.
    ///   - connection: In a transaction.
    /// - Returns: false for a driver who was erased; nothing may be stored then.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func enter(
        _ id: UniqueID,
        named name: String?,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        guard try enter([id], on: connection)[id] != nil else { return false }
        if let name {
            try connection.execute(
                "UPDATE feed.drivers SET name = $2 WHERE id = $1 AND name IS DISTINCT FROM $2",
                [.uuid(id), .text(name)]
            )
        }
        return true
    }
}
