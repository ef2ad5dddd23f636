-- People and riders that are being forgotten. A row stands from the mark until every owner of data has confirmed; then it goes with what auth
-- itself knows, so that nothing says who was forgotten.
CREATE TABLE auth.erasures (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('rider', 'account')),
    subject text NOT NULL CHECK (subject <> ''),
    -- For riders: the keyed hash of the installation, as an id. While the row stands the installation cannot register.
    successor uuid,
    -- When the last token of the subject has expired by itself.
    tokens_until timestamptz NOT NULL,
    requested_at timestamptz NOT NULL,
    UNIQUE (kind, subject)
);
CREATE INDEX erasures_by_request ON auth.erasures (requested_at);
CREATE INDEX erasures_by_successor ON auth.erasures (successor);

-- Installations that were blocked when their rider was forgotten. Nothing but a keyed hash remains, and it is the id that the installation gets
-- when it registers again: the verifier keeps the same id blocked.
CREATE TABLE auth.blocked_installations (
    successor uuid PRIMARY KEY
);

-- When the last token that was signed for the rider expires; NULL for riders of before this migration.
ALTER TABLE auth.riders ADD COLUMN tokens_until timestamptz;

-- A subject stands here as the first 128 bits of SHA-256 over its id, so that a revocation does not keep the id of who was forgotten:
-- left(encode(sha256('<id>'), 'hex'), 32).
ALTER TABLE auth.revocations ADD CONSTRAINT revocations_subject_is_digest
    CHECK (kind <> 'subject' OR value ~ '^[0-9a-f]{32}$');
