-- Riders that were forgotten, by a digest of their ids: a request that was under way must not bring back what is gone. A row goes when no
-- token of the rider can be valid any more.
CREATE TABLE verifier.erased_riders (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    until timestamptz NOT NULL
);
CREATE INDEX erased_riders_by_end ON verifier.erased_riders (until);
