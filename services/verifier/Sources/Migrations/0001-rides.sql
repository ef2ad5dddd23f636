-- Rides, their points and what riders have earned. No DEFAULT now(): every domain time comes from the application clock.

-- One active ride or an ended one. What a new owner of the slot needs to go on with a ride is in its row.
CREATE TABLE verifier.rides (
    id uuid PRIMARY KEY,
    -- The low byte of FNV-1a-64 over the trip id; also the last byte of the ride id.
    slot smallint NOT NULL CHECK (slot BETWEEN 0 AND 255),
    rider_id uuid NOT NULL,
    trip_id text NOT NULL CHECK (trip_id <> ''),
    start_date text NOT NULL CHECK (start_date ~ '^[0-9]{8}$'),
    route_id text NOT NULL DEFAULT '',
    vehicle_id text NOT NULL DEFAULT '',
    boarding_stop_id text NOT NULL DEFAULT '',
    destination_stop_id text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'ended')),
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'verified', 'rejected')),
    corroborated boolean NOT NULL DEFAULT false,
    end_reason text NOT NULL DEFAULT '',
    points_total integer NOT NULL DEFAULT 0,
    points_matched integer NOT NULL DEFAULT 0,
    points_corroborated integer NOT NULL DEFAULT 0,
    points_contradicted integer NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    updated_at timestamptz NOT NULL,
    -- Streaks, and the last points as far as the rules need them. Where the rider is (along_shape, speed) is cleared at the ride's
    -- end and never written for a blocked rider.
    match_streak integer NOT NULL DEFAULT 0,
    off_route_streak integer NOT NULL DEFAULT 0,
    contradiction_streak integer NOT NULL DEFAULT 0,
    recent_outcomes text NOT NULL DEFAULT '',
    first_matched_at timestamptz,
    last_matched_at timestamptz,
    last_accepted_at timestamptz,
    last_corroboration text NOT NULL DEFAULT 'unavailable',
    shape_hash bigint NOT NULL DEFAULT 0,
    along_shape double precision,
    speed double precision,
    -- The last batch: its digest and the answer it got, so that the same batch sent again gets the same answer.
    batch_digest bigint,
    batch_answer bytea,
    -- The request that ended the ride, so that its repeat gets the summary.
    ended_by uuid,
    CHECK ((status = 'ended') = (ended_at IS NOT NULL)),
    CHECK (status = 'active' OR (along_shape IS NULL AND speed IS NULL AND batch_answer IS NULL))
);
-- The second of two starts that race in different verifiers meets this.
CREATE UNIQUE INDEX rides_one_active_per_rider ON verifier.rides (rider_id) WHERE status = 'active';
CREATE INDEX rides_active_by_slot ON verifier.rides (slot) WHERE status = 'active';
CREATE INDEX rides_by_rider ON verifier.rides (rider_id, status);
CREATE INDEX rides_by_trip ON verifier.rides (trip_id, start_date);
CREATE INDEX rides_by_start ON verifier.rides (started_at DESC);

-- Keyed so that a repeat cannot double; by day of the point's time, so that retention drops whole partitions.
CREATE TABLE verifier.ride_points (
    ride_id uuid NOT NULL,
    timestamp timestamptz NOT NULL,
    latitude double precision NOT NULL,
    longitude double precision NOT NULL,
    accuracy double precision,
    speed double precision,
    bearing double precision,
    outcome text NOT NULL,
    corroboration text NOT NULL,
    along_shape double precision,
    distance_to_shape double precision,
    schedule_deviation_seconds integer,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (ride_id, timestamp)
) PARTITION BY RANGE (timestamp);
CREATE TABLE verifier.ride_points_default PARTITION OF verifier.ride_points DEFAULT;
CREATE INDEX ride_points_by_receipt ON verifier.ride_points (received_at);

-- A pseudonymous rider's standing. The installation behind it is known to auth alone.
CREATE TABLE verifier.rider_reputation (
    rider_id uuid PRIMARY KEY,
    score integer NOT NULL DEFAULT 0 CHECK (score BETWEEN -10 AND 10),
    tier text NOT NULL DEFAULT 'new' CHECK (tier IN ('new', 'trusted', 'blocked')),
    rides_total integer NOT NULL DEFAULT 0,
    rides_corroborated integer NOT NULL DEFAULT 0,
    rides_rejected integer NOT NULL DEFAULT 0,
    -- When the rider's allowance of ride changes is full again (1 in 10 s, burst 3).
    changes_full_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL
);
CREATE INDEX rider_reputation_by_tier ON verifier.rider_reputation (tier);

-- Which process is behind which database session, so that a silent owner of slots can be found and cut off.
CREATE TABLE verifier.slot_owners (
    backend_pid integer PRIMARY KEY,
    instance text NOT NULL
);

-- A number drawn at each acquisition of a slot; the higher one speaks for the slot.
CREATE SEQUENCE verifier.slot_epoch AS bigint;
