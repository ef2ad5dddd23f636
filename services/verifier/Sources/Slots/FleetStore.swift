internal import Database
internal import Transit

extension AdvisoryLock.Class {
    /// Being a verifier; held for the whole session, the key is its server process.
    static let verifier = AdvisoryLock.Class(0x414C_0004)
}

/// The schedule that a verifier works with, as operators see it.
struct ScheduleNote: Sendable, Equatable {
    /// The archive's content hash, hexadecimal.
    let hash: String
    /// The path or address that it came from.
    let source: String
}

/// Who the verifiers are, read and written on the writer's session itself.
enum FleetStore {
    /// Enters this session if it is new, and lists the writers' sessions of all verifiers.
    ///
    /// - Parameters:
    ///   - instance: The process behind this session.
    ///   - schedule: What it works with, told to operators; written when it changes.
    ///   - silence: Seconds after which a process without a heartbeat is silent.
    ///   - connection: The writer's.
    /// - Returns: The sessions that live, this one among them.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func sessions(
        enteringAs instance: String,
        schedule: ScheduleNote?,
        silence: Double,
        on connection: Connection
    ) throws(DatabaseError) -> [Fleet.Session] {
        var present = Set(try AdvisoryLock.holders(of: .verifier, on: connection).values)
        if present.insert(connection.backendPID).inserted {
            try enter(instance, on: connection)
        }
        if let schedule {
            try connection.execute(
                """
                UPDATE verifier.slot_owners SET schedule_hash = $2, schedule_source = $3
                WHERE backend_pid = $1 AND (schedule_hash, schedule_source) IS DISTINCT FROM ($2, $3)
                """,
                [.int(Int(connection.backendPID)), .text(schedule.hash), .text(schedule.source)]
            )
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

    /// Tells operators who took slots, and under which numbers.
    static func note(
        _ slots: [Slot],
        epochs: [UInt64],
        of instance: String,
        on connection: Connection
    ) throws(DatabaseError) {
        // In the order of the slots: two who take slots at once do not wait for each other in a circle.
        let entries = zip(slots, epochs).sorted { $0.0 < $1.0 }
        try connection.execute(
            """
            INSERT INTO verifier.slots AS s (slot, epoch, instance, acquired_at)
            SELECT slot, epoch, $3, clock_timestamp()
            FROM unnest($1::smallint[], $2::bigint[]) AS n (slot, epoch)
            ON CONFLICT (slot) DO UPDATE SET epoch = excluded.epoch,
                instance = excluded.instance, acquired_at = excluded.acquired_at
            WHERE s.epoch < excluded.epoch
            """,
            [
                .smallintArray(entries.map { Int16($0.0.rawValue) }),
                .intArray(entries.map { Int64(clamping: $0.1) }), .text(instance),
            ]
        )
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
            ON CONFLICT (backend_pid) DO UPDATE SET instance = excluded.instance,
                schedule_hash = '', schedule_source = ''
            """,
            [.int(Int(connection.backendPID)), .text(instance)]
        )
        _ = try AdvisoryLock(class: .verifier, key: connection.backendPID).tryLock(on: connection)
    }
}
