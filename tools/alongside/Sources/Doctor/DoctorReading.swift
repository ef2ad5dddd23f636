internal import Database
internal import Glibc
internal import Schedule
internal import ServiceKit
internal import Transit

/// What the database says about a running deployment, at one moment.
struct DoctorReading: Sendable, Equatable {
    /// A schema with the migrations that were applied and those that this program knows.
    struct Schema: Sendable, Equatable {
        let name: String
        /// nil when the schema is not there at all.
        let applied: [String]?
        let known: [String]
    }

    /// A process as the directory knows it.
    struct Instance: Sendable, Equatable {
        let service: String
        let name: String
        /// Seconds since its last heartbeat, by the database's clock.
        let silence: Double
        let endpoint: String
    }

    /// A verifier's session with the slots that it holds.
    struct Owner: Sendable, Equatable {
        /// Its name; nil for a session that holds slots without having entered itself.
        let instance: String?
        let backendPID: Int32
        /// The slots that it holds with the numbers under which it took them.
        let slots: [Int: Int64]
        let scheduleHash: String
        let scheduleSource: String
    }

    /// Points and the partitions they go to.
    struct Points: Sendable, Equatable {
        /// The days that have a partition, such as `20260216`.
        let days: [String]
        /// Rows that found no partition of their day, up to 1,000.
        let strays: Int
        /// Today and tomorrow by the database's clock, shifted as the fleet's is.
        let today: String
        let tomorrow: String
    }

    /// What the schedule in use is good for, as the builder noted it.
    struct ScheduleInUse: Sendable, Equatable {
        let source: String
        let outlook: ScheduleOutlook
    }

    var server = ""
    /// Why the server stores nothing, in its own words; nil when it does.
    var writeFault: String?
    var schemas: [Schema] = []
    var instances: [Instance] = []
    var owners: [Owner] = []
    var activeRides: [Int: Int] = [:]
    var points: Points?
    /// nil without a schedule in the database, and until the builder has looked at it.
    var schedule: ScheduleInUse?
    /// Seconds added to every process's clock; nil without a shift.
    var clockOffset: Int64?

    /// Reads what is there; what is not, because a schema is missing, stays empty.
    static func read(
        schemas known: [ServiceSchema],
        on connection: Connection
    ) throws(DatabaseError) -> DoctorReading {
        var reading = DoctorReading()
        reading.server = try connection.query("SHOW server_version").one().text(0)
        reading.writeFault = try writeFault(on: connection)
        for schema in known {
            reading.schemas.append(try read(schema, on: connection))
        }
        if reading.isMigrated("bus") {
            reading.instances = try instances(on: connection)
            reading.clockOffset = try connection.query("SELECT offset_seconds FROM bus.clock")
                .first?.int64(0)
        }
        if reading.isMigrated("feed") { reading.schedule = try schedule(on: connection) }
        if reading.isMigrated("verifier") {
            reading.owners = try owners(on: connection)
            reading.activeRides = try activeRides(on: connection)
            reading.points = try points(offset: reading.clockOffset ?? 0, on: connection)
        }
        return reading
    }

    /// Stores some kilobytes and takes them back.
    private static func writeFault(
        on connection: Connection
    ) throws(DatabaseError) -> String? {
        do throws(DatabaseError) {
            try connection.transaction { () throws(DatabaseError) in
                try connection.execute(
                    "CREATE TEMPORARY TABLE doctor ON COMMIT DROP AS "
                        + "SELECT repeat('x', 1000) FROM generate_series(1, 100)"
                )
            }
            return nil
        } catch {
            guard error.kind == .statement else { throw error }
            return error.message
        }
    }

    /// Whether a schema has everything that this program knows.
    func isMigrated(_ name: String) -> Bool {
        schemas.contains { $0.name == name && $0.known.allSatisfy(($0.applied ?? []).contains) }
    }

    private static func read(
        _ schema: ServiceSchema,
        on connection: Connection
    ) throws(DatabaseError) -> Schema {
        let known = schema.migrations.map(\.name)
        let table = try connection.query(
            "SELECT to_regclass($1) IS NOT NULL",
            [.text("\(schema.name).migrations")]
        ).one()
        guard try table.bool(0) else {
            return Schema(name: schema.name, applied: nil, known: known)
        }
        var applied: [String] = []
        for row in try connection.query(
            "SELECT name FROM \(schema.name).migrations ORDER BY name COLLATE \"C\""
        ) {
            applied.append(try row.text(0))
        }
        return Schema(name: schema.name, applied: applied, known: known)
    }

    private static func instances(
        on connection: Connection
    ) throws(DatabaseError) -> [Instance] {
        var instances: [Instance] = []
        for row in try connection.query(
            """
            SELECT service, instance, request_endpoint,
                extract(epoch FROM clock_timestamp() - heartbeat_at)::float8 AS silence
            FROM bus.instances ORDER BY service, instance
            """
        ) {
            instances.append(
                Instance(
                    service: try row.text("service"),
                    name: try row.text("instance"),
                    silence: try row.double("silence"),
                    endpoint: try row.text("request_endpoint")
                )
            )
        }
        return instances
    }

    private static func owners(on connection: Connection) throws(DatabaseError) -> [Owner] {
        let holders = try AdvisoryLock.holders(of: .slot, on: connection)
        var epochs: [Int: Int64] = [:]
        for row in try connection.query("SELECT slot, epoch FROM verifier.slots") {
            epochs[try row.int("slot")] = try row.int64("epoch")
        }
        var slots: [Int32: [Int: Int64]] = [:]
        for (slot, backend) in holders { slots[backend, default: [:]][Int(slot)] = 0 }
        for (backend, held) in slots {
            slots[backend] = Dictionary(
                uniqueKeysWithValues: held.keys.map { ($0, epochs[$0] ?? 0) }
            )
        }
        var owners: [Owner] = []
        // A row of a session that ended stays until its number comes again.
        for row in try connection.query(
            """
            SELECT o.backend_pid, o.instance, o.schedule_hash, o.schedule_source
            FROM verifier.slot_owners o JOIN pg_stat_activity a ON a.pid = o.backend_pid
                AND a.datname = current_database() AND a.application_name = o.instance
            ORDER BY o.instance
            """
        ) {
            let backend = Int32(truncatingIfNeeded: try row.int("backend_pid"))
            owners.append(
                Owner(
                    instance: try row.text("instance"),
                    backendPID: backend,
                    slots: slots.removeValue(forKey: backend) ?? [:],
                    scheduleHash: try row.text("schedule_hash"),
                    scheduleSource: try row.text("schedule_source")
                )
            )
        }
        for (backend, held) in slots.sorted(by: { $0.key < $1.key }) {
            owners.append(
                Owner(
                    instance: nil,
                    backendPID: backend,
                    slots: held,
                    scheduleHash: "",
                    scheduleSource: ""
                )
            )
        }
        return owners
    }

    private static func schedule(
        on connection: Connection
    ) throws(DatabaseError) -> ScheduleInUse? {
        guard
            let row = try connection.query(
                """
                SELECT source, last_service_date, trips, rider_trips FROM feed.schedule_archive
                ORDER BY epoch DESC LIMIT 1
                """
            ).first, try !row.isNull("last_service_date")
        else { return nil }
        return ScheduleInUse(
            source: try row.text("source"),
            outlook: ScheduleOutlook(
                lastServiceDate: ServiceDate(try row.text("last_service_date")),
                trips: try row.int("trips"),
                riderTrips: try row.int("rider_trips")
            )
        )
    }

    private static func activeRides(
        on connection: Connection
    ) throws(DatabaseError) -> [Int: Int] {
        var rides: [Int: Int] = [:]
        for row in try connection.query(
            "SELECT slot, count(*) AS rides FROM verifier.rides WHERE status = 'active' GROUP BY slot"
        ) {
            rides[try row.int("slot")] = try row.int("rides")
        }
        return rides
    }

    private static func points(
        offset: Int64,
        on connection: Connection
    ) throws(DatabaseError) -> Points {
        let row = try connection.query(
            """
            SELECT (SELECT count(*) FROM
                    (SELECT FROM verifier.ride_points_default LIMIT 1000) t) AS strays,
                to_char(t.now AT TIME ZONE 'UTC', 'YYYYMMDD') AS today,
                to_char(t.now AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD') AS tomorrow
            FROM (SELECT clock_timestamp() + make_interval(secs => $1) AS now) t
            """,
            [.double(Double(offset))]
        ).one()
        var days: [String] = []
        for partition in try connection.query(
            """
            SELECT replace(c.relname::text, 'ride_points_', '') AS day
            FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'verifier.ride_points'::regclass
                AND c.relname <> 'ride_points_default' ORDER BY 1
            """
        ) {
            days.append(try partition.text("day"))
        }
        return Points(
            days: days,
            strays: try row.int("strays"),
            today: try row.text("today"),
            tomorrow: try row.text("tomorrow")
        )
    }
}
