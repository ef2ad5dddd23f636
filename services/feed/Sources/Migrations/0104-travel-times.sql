-- How much longer than planned vehicles took between two stops lately, as the builder learned it: its successor goes on with that.
CREATE TABLE feed.travel_times (
    from_stop text COLLATE "C" NOT NULL,
    to_stop text COLLATE "C" NOT NULL,
    -- How many passages it counts for at seen_at, which counts less as time passes.
    weight double precision NOT NULL,
    -- The sum of their deviations in seconds, weighted alike.
    deviation_sum double precision NOT NULL,
    -- When the last of them ended.
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (from_stop, to_stop)
) WITH (fillfactor = 70);
