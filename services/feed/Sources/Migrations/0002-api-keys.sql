-- Keys of the feed's consumers. The key itself is shown once and not kept.
CREATE TABLE feed.api_keys (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- SHA-256 of the key, hexadecimal.
    key_hash text NOT NULL UNIQUE,
    active boolean NOT NULL DEFAULT true,
    -- To the minute: written at most that often.
    last_used_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
