public import Database
internal import Glibc

/// Whether another process lives under the name that this one is about to take.
///
/// Binding a Unix socket takes it away from whoever listens there, without a word to either; two
/// processes of one name would then answer each other's requests. So the directory is asked first.
public enum InstanceClaim {
    /// A process that lives beats once in this time.
    static let heartbeatPatience = Duration.milliseconds(1500)
    /// Pause between two looks.
    private static let pause = Duration.milliseconds(100)

    private struct Row {
        let record: InstanceRecord
        let heartbeat: String
    }

    /// Makes sure that no other process lives under a name.
    ///
    /// A row of a process that crashed is no obstacle: one on this machine is known by its process id,
    /// one elsewhere by a heartbeat that does not come. While the database is away nobody is asked.
    ///
    /// - Parameters:
    ///   - instance: The name.
    ///   - database: A pool whose role may use the schema `bus`.
    /// - Throws: ``BusError/configuration(_:)`` that names the other process.
    public static func check(_ instance: String, in database: Database) async throws(BusError) {
        guard let first = await row(of: instance, in: database), isPossible(first.record) else {
            return
        }
        let deadline = ContinuousClock.now + heartbeatPatience
        while ContinuousClock.now < deadline {
            do { try await Task.sleep(for: pause) } catch { return }
            guard let row = await row(of: instance, in: database) else { return }
            if row.heartbeat != first.heartbeat {
                throw .configuration(
                    "INSTANCE_ID \"\(instance)\" is in use by process \(row.record.pid) at "
                        + "\(row.record.requestEndpoint): stop that one, or give this one another name"
                )
            }
        }
    }

    /// Whether the process of a row can be alive, as far as can be told without waiting.
    private static func isPossible(_ record: InstanceRecord) -> Bool {
        // Elsewhere its number says nothing.
        guard record.requestEndpoint.hasPrefix("ipc:") else { return true }
        guard record.pid != getpid() else { return false }
        return kill(record.pid, 0) == 0 || errno == EPERM
    }

    /// The row of an instance, if its heartbeat is recent.
    private static func row(of instance: String, in database: Database) async -> Row? {
        let rows = try? await database.withConnection { connection throws(DatabaseError) in
            var rows: [Row] = []
            for row in try connection.query(
                """
                SELECT service, request_endpoint, publish_endpoint, pid, heartbeat_at::text AS beat
                FROM bus.instances WHERE instance = $1
                    AND heartbeat_at > clock_timestamp() - make_interval(secs => $2)
                """,
                [.text(instance), .double(PostgresDirectory.silenceSeconds)]
            ) {
                let record = InstanceRecord(
                    service: try row.text("service"),
                    instance: instance,
                    requestEndpoint: try row.text("request_endpoint"),
                    publishEndpoint: try row.text("publish_endpoint"),
                    pid: Int32(truncatingIfNeeded: try row.int("pid"))
                )
                rows.append(Row(record: record, heartbeat: try row.text("beat")))
            }
            return rows
        }
        return rows?.first
    }
}
