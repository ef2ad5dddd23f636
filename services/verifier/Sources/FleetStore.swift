internal import Database

extension AdvisoryLock.Class {
    /// Being a verifier; held for the whole session, the key is its server process.
    static let verifier = AdvisoryLock.Class(0x414C_0004)
}

/// Who the verifiers are, read and written on the writer's session itself.
enum FleetStore {
    /// Enters this session if it is new, and lists the writers' sessions of all verifiers.
    ///
    /// - Parameters:
    ///   - instance: The process behind this session.
    ///   - silence: Seconds after which a process without a heartbeat is silent.
    ///   - connection: The writer's.
    /// - Returns: The sessions that live, this one among them.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func sessions(
        enteringAs instance: String,
        silence: Double,
        on connection: Connection
    ) throws(DatabaseError) -> [Fleet.Session] {
        var present = Set(try AdvisoryLock.holders(of: .verifier, on: connection).values)
        if present.insert(connection.backendPID).inserted {
            try enter(instance, on: connection)
        }
        let rows = try connection.query(
            """
            SELECT o.backend_pid, o.instance, EXISTS (
                SELECT 1 FROM bus.instances i WHERE i.instance = o.instance
                    AND i.heartbeat_at > clock_timestamp() - make_interval(secs => $2)) AS beats
            FROM verifier.slot_owners o WHERE o.backend_pid = ANY ($1::int[])
            """,
            [.intArray(present.map { Int64($0) }), .double(silence)]
        )
        var sessions: [Fleet.Session] = []
        for row in rows {
            sessions.append(
                Fleet.Session(
                    backendPID: Int32(truncatingIfNeeded: try row.int("backend_pid")),
                    instance: try row.text("instance"),
                    beats: try row.bool("beats")
                )
            )
        }
        return sessions
    }

    /// Says which process this session belongs to, and only then that it is there: so every session
    /// that others see has its row.
    private static func enter(
        _ instance: String,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            INSERT INTO verifier.slot_owners (backend_pid, instance) VALUES ($1, $2)
            ON CONFLICT (backend_pid) DO UPDATE SET instance = excluded.instance
            """,
            [.int(Int(connection.backendPID)), .text(instance)]
        )
        _ = try AdvisoryLock(class: .verifier, key: connection.backendPID).tryLock(on: connection)
    }
}
