public import Database

/// The schema `bus`: who lives where, and the fleet's clock.
///
/// Every service's role may use it.
public enum BusMigrations {
    /// The schema's name, also the first part of its role's.
    public static let schema = "bus"

    /// The history of the schema.
    public static let all: [Migration] = [
        Migration(
            name: "0001-instances",
            sql: """
                CREATE TABLE bus.instances (
                    instance text PRIMARY KEY,
                    service text NOT NULL,
                    request_endpoint text NOT NULL,
                    publish_endpoint text NOT NULL,
                    pid integer NOT NULL,
                    heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp()
                );
                CREATE INDEX instances_by_service ON bus.instances (service);

                -- One row at most: what is added to the wall clock of every process.
                CREATE TABLE bus.clock (
                    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
                    offset_seconds bigint NOT NULL
                );

                GRANT USAGE ON SCHEMA bus TO PUBLIC;
                GRANT SELECT, INSERT, UPDATE, DELETE ON bus.instances, bus.clock TO PUBLIC;
                """
        )
    ]
}
