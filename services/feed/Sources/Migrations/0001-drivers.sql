-- Vehicles, who drives them, and where they were. No DEFAULT now(): every domain time comes from the application clock.

-- Made by an admin, or by the first report of a vehicle that nobody had named. Never deleted, only made inactive.
CREATE TABLE feed.vehicles (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9._-]{1,50}$'),
    label text NOT NULL DEFAULT '' CHECK (char_length(label) <= 255),
    agency_tag text NOT NULL DEFAULT '' CHECK (char_length(agency_tag) <= 255),
    active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX vehicles_by_age ON feed.vehicles (created_at DESC, id);

-- Which account may start a trip on which vehicle. The accounts are auth's.
CREATE TABLE feed.assignments (
    user_id uuid NOT NULL,
    vehicle_id text COLLATE "C" NOT NULL REFERENCES feed.vehicles (id),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, vehicle_id)
);
CREATE INDEX assignments_by_vehicle ON feed.assignments (vehicle_id);

-- What the feed keeps of a driver: the allowance of reports, which holds for all replicas as it is in the row that a report writes.
CREATE TABLE feed.drivers (
    id uuid PRIMARY KEY,
    -- As auth last said; NULL until it did.
    name text,
    -- The receipt of the last report and of the last batch that were admitted.
    reported_at timestamptz,
    batched_at timestamptz,
    -- Reports whose time was more than a minute off.
    skewed_reports bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE feed.driver_trips (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id uuid NOT NULL,
    vehicle_id text COLLATE "C" NOT NULL REFERENCES feed.vehicles (id),
    route_id text NOT NULL DEFAULT '',
    gtfs_trip_id text NOT NULL DEFAULT '',
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed')),
    CHECK ((status = 'completed') = (ended_at IS NOT NULL))
);
-- The second of two starts that race in different replicas meets this.
CREATE UNIQUE INDEX driver_trips_one_active_per_user ON feed.driver_trips (user_id) WHERE status = 'active';
CREATE INDEX driver_trips_by_user ON feed.driver_trips (user_id, status);
CREATE INDEX driver_trips_by_vehicle ON feed.driver_trips (vehicle_id, status);
CREATE INDEX driver_trips_by_start ON feed.driver_trips (started_at DESC, id DESC);

-- Keyed so that a repeat cannot double; by day of the point's time, so that retention drops whole partitions.
CREATE TABLE feed.location_points (
    vehicle_id text COLLATE "C" NOT NULL,
    timestamp timestamptz NOT NULL,
    trip_id text NOT NULL DEFAULT '',
    route_id text NOT NULL DEFAULT '',
    start_date text NOT NULL DEFAULT '',
    latitude double precision NOT NULL CHECK (latitude BETWEEN -90 AND 90),
    longitude double precision NOT NULL CHECK (longitude BETWEEN -180 AND 180),
    bearing double precision,
    speed double precision,
    accuracy double precision,
    driver_id uuid NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (vehicle_id, timestamp)
) PARTITION BY RANGE (timestamp);
CREATE TABLE feed.location_points_default PARTITION OF feed.location_points DEFAULT;
-- For retention; points come in the order of their receipt, so a summary of pages suffices.
CREATE INDEX location_points_by_receipt ON feed.location_points USING brin (received_at) WITH (autosummarize = on);

-- The newest report of each vehicle: what every replica publishes. One small row each, so the table is read whole; without an index on
-- what changes, an update stays in its page.
CREATE TABLE feed.live_vehicles (
    vehicle_id text COLLATE "C" PRIMARY KEY,
    trip_id text NOT NULL DEFAULT '',
    route_id text NOT NULL DEFAULT '',
    start_date text NOT NULL DEFAULT '',
    latitude double precision NOT NULL,
    longitude double precision NOT NULL,
    bearing double precision,
    speed double precision,
    -- As the driver's clock said, and no later than the receipt.
    timestamp timestamptz NOT NULL,
    reported_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL,
    driver_id uuid NOT NULL,
    -- Whether the driver was assigned to the vehicle at the report.
    assigned boolean NOT NULL,
    -- Rises with each report, so that a replica knows the newer of two.
    revision bigint NOT NULL DEFAULT 1,
    -- The cursor of replicas: a look sees every row whose transaction is not below the oldest one that was running at the look before.
    transaction xid8 NOT NULL
) WITH (fillfactor = 50);
