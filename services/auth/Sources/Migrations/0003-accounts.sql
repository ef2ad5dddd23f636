-- People and staff. Nothing here, and no column of any other table, leads from an account to an installation in auth.riders or back.
CREATE TABLE auth.accounts (
    id uuid PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('member', 'driver', 'admin')),
    -- As its owner writes it; the key beside it is what is compared, so that case never makes two.
    handle text,
    handle_key text UNIQUE,
    email text,
    email_key text UNIQUE,
    name text NOT NULL,
    active boolean NOT NULL,
    -- Argon2id in libsodium's text form, salt and costs included.
    password_hash text NOT NULL,
    -- Rises with each new password, not with a new hash of the same one.
    password_generation integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- Set once the account is being erased: only the id and the handle's key are left until every owner of data has confirmed.
    erasing_since timestamptz,
    CHECK (erasing_since IS NOT NULL OR (handle IS NULL) = (handle_key IS NULL)),
    CHECK ((email IS NULL) = (email_key IS NULL)),
    CHECK (erasing_since IS NOT NULL OR handle IS NOT NULL OR role <> 'member'),
    CHECK (erasing_since IS NOT NULL OR (email IS NOT NULL AND name <> '') OR role = 'member'),
    CHECK (erasing_since IS NULL OR NOT active)
);
-- The list of staff, newest first.
CREATE INDEX accounts_of_staff ON auth.accounts (created_at DESC, id DESC) WHERE role <> 'member';

-- Where somebody is logged in. A browser's session is one token; an app's goes on from pair to pair.
CREATE TABLE auth.sessions (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES auth.accounts ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('app', 'browser')),
    started_at timestamptz NOT NULL,
    -- When the last token was signed.
    used_at timestamptz NOT NULL,
    -- When nothing of it works any more and the row may go.
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_by_account ON auth.sessions (account_id, started_at);
CREATE INDEX sessions_by_end ON auth.sessions (expires_at);

-- What was signed for a session: access tokens by their jti, refresh tokens by their hash alone. A spent refresh token stays until it
-- would have expired, so that a second use is noticed.
CREATE TABLE auth.session_tokens (
    access_id text PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES auth.sessions ON DELETE CASCADE,
    issued_at timestamptz NOT NULL,
    access_expires_at timestamptz NOT NULL,
    refresh_hash bytea UNIQUE CHECK (length(refresh_hash) = 32),
    refresh_expires_at timestamptz,
    spent_at timestamptz,
    CHECK ((refresh_hash IS NULL) = (refresh_expires_at IS NULL))
);
CREATE INDEX session_tokens_by_session ON auth.session_tokens (session_id);
