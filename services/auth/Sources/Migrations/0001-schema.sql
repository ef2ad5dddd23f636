-- Installations of riders' apps. Who is behind one is not known to anybody; times come from the application clock.
CREATE TABLE auth.riders (
    id uuid PRIMARY KEY,
    installation_id uuid NOT NULL UNIQUE,
    platform text NOT NULL CHECK (platform IN ('ios', 'android', 'other')),
    app_id text NOT NULL DEFAULT '',
    app_version text NOT NULL DEFAULT '',
    attested boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL
);

-- Attempts by caller in fixed windows, shared by all replicas. A crash may forget them: UNLOGGED.
CREATE UNLOGGED TABLE auth.attempts (
    kind text NOT NULL,
    caller text NOT NULL,
    window_start timestamptz NOT NULL,
    count integer NOT NULL,
    PRIMARY KEY (kind, caller, window_start)
);
CREATE INDEX attempts_by_window ON auth.attempts (kind, window_start);
