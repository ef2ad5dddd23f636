-- Which process is behind the session that holds the builder's lock, so that a frozen one can be found and cut off.
CREATE TABLE feed.builders (
    backend_pid integer PRIMARY KEY,
    instance text NOT NULL,
    -- By the database's clock: when the session took the lock.
    seen_at timestamptz NOT NULL
);

-- A number drawn each time the lock is taken; the higher one speaks for the feed.
CREATE SEQUENCE feed.builder_epoch AS bigint;
