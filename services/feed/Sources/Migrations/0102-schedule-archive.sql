-- Schedules as they were fetched, by the SHA-256 of their bytes. Every service may read them, so that all use the same one and a restart
-- needs no agency. The highest epoch is in use.
CREATE TABLE feed.schedule_archive (
    content_hash bytea PRIMARY KEY CHECK (octet_length(content_hash) = 32),
    -- Where it was fetched from.
    source text NOT NULL,
    archive_bytes bigint NOT NULL,
    epoch bigint NOT NULL UNIQUE,
    activated_at timestamptz NOT NULL
);
CREATE SEQUENCE feed.schedule_epoch AS bigint;

CREATE TABLE feed.schedule_chunks (
    content_hash bytea NOT NULL REFERENCES feed.schedule_archive ON DELETE CASCADE,
    number integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (content_hash, number)
);
-- A zip does not get smaller.
ALTER TABLE feed.schedule_chunks ALTER COLUMN body SET STORAGE EXTERNAL;

GRANT USAGE ON SCHEMA feed TO PUBLIC;
GRANT SELECT ON feed.schedule_archive, feed.schedule_chunks TO PUBLIC;
