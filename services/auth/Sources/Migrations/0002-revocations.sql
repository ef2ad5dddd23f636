-- Tokens that no longer count: one by its id, or all of a subject that were signed up to an instant. The one table of this schema that
-- other services may read; each asks for what is new since its last look.
CREATE TABLE auth.revocations (
    kind text NOT NULL CHECK (kind IN ('token', 'subject')),
    -- A token's jti, or the id of an account or rider.
    value text NOT NULL CHECK (value <> ''),
    revoked_at timestamptz NOT NULL,
    -- When the last token concerned has expired by itself and the row may go.
    until timestamptz NOT NULL,
    -- The cursor of readers: a look sees every row whose transaction is not below the oldest one that was running at the look before,
    -- so no row is missed whatever the order of commits.
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (kind, value)
);
CREATE INDEX revocations_by_transaction ON auth.revocations (transaction);
CREATE INDEX revocations_by_end ON auth.revocations (until);

GRANT USAGE ON SCHEMA auth TO PUBLIC;
GRANT SELECT ON auth.revocations TO PUBLIC;
