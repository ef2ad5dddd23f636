-- Why each point counted as it did, and when its ride was first believed: for operators who ask why.
ALTER TABLE verifier.rides ADD COLUMN verified_at timestamptz;
ALTER TABLE verifier.ride_points
    -- The check that decided, with what it measured and the limit it held that against; NULL for a point that matched and was compared
    -- with nothing.
    ADD COLUMN check_id text,
    ADD COLUMN measured double precision,
    ADD COLUMN threshold double precision;

-- Points arrive in order, so a block-range index finds the old ones, and costs the writer nothing.
DROP INDEX verifier.ride_points_by_receipt;
CREATE INDEX ride_points_by_receipt ON verifier.ride_points USING brin (received_at);

-- Who took which slot last and under which number, and which schedule each verifier works with. Told for operators alone: ownership itself is
-- the advisory lock, and these times are the database's, as heartbeats are.
CREATE TABLE verifier.slots (
    slot smallint PRIMARY KEY CHECK (slot BETWEEN 0 AND 255),
    epoch bigint NOT NULL,
    instance text NOT NULL,
    acquired_at timestamptz NOT NULL
);
ALTER TABLE verifier.slot_owners
    ADD COLUMN schedule_hash text NOT NULL DEFAULT '',
    ADD COLUMN schedule_source text NOT NULL DEFAULT '';
