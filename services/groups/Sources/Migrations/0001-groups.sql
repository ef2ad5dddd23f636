-- Friendships, groups and what their members share. No DEFAULT now(): every domain time comes from the application clock. Enumerations are
-- stored by name. The order of locks is in the service's Locks.swift.

-- People as their tokens name them; a row stands from the first sight of an account until its erasure.
CREATE TABLE groups.accounts (
    id uuid PRIMARY KEY,
    handle text NOT NULL CHECK (handle ~ '^[A-Za-z0-9_.-]{3,24}$'),
    seen_at timestamptz NOT NULL
);
CREATE INDEX accounts_by_handle ON groups.accounts (lower(handle), seen_at DESC);

-- Accounts that were erased, by the first 16 bytes of SHA-256 over the id, until their last token has expired by itself: a request that
-- was under way meanwhile must not bring one back.
CREATE TABLE groups.erased_accounts (
    digest bytea PRIMARY KEY,
    until timestamptz NOT NULL
);

-- A pair in the order of its ids; a declined or ended one has no row.
CREATE TABLE groups.friendships (
    low_id uuid NOT NULL REFERENCES groups.accounts (id),
    high_id uuid NOT NULL REFERENCES groups.accounts (id),
    status text NOT NULL CHECK (status IN ('Pending', 'Accepted')),
    requested_by uuid NOT NULL,
    created_at timestamptz NOT NULL,
    accepted_at timestamptz,
    PRIMARY KEY (low_id, high_id),
    CHECK (low_id < high_id),
    CHECK (requested_by IN (low_id, high_id)),
    CHECK ((status = 'Accepted') = (accepted_at IS NOT NULL))
);
CREATE INDEX friendships_by_high ON groups.friendships (high_id);

-- Puts rows in the order in which they came, whatever the clock says.
CREATE SEQUENCE groups.turn AS bigint;

CREATE TABLE groups.groups (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('Circle', 'Convoy')),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 40),
    -- NULL in a group without accepted members; whoever accepts next owns it.
    owner_id uuid REFERENCES groups.accounts (id),
    created_at timestamptz NOT NULL,
    turn bigint NOT NULL,
    -- Rises in the transaction of every change of membership or sharing; relays hold a view of one version.
    version bigint NOT NULL,
    -- The number of the newest place event.
    event_seq bigint NOT NULL
);
CREATE INDEX groups_by_owner ON groups.groups (owner_id);

CREATE TABLE groups.members (
    group_id uuid NOT NULL REFERENCES groups.groups (id) ON DELETE CASCADE,
    account_id uuid NOT NULL REFERENCES groups.accounts (id),
    status text NOT NULL CHECK (status IN ('Invited', 'Accepted')),
    -- Who invited, while the invitation is open.
    invited_by uuid REFERENCES groups.accounts (id),
    -- On the membership and not on the group: one member's pause is nobody else's.
    is_sharing boolean NOT NULL,
    joined_at timestamptz NOT NULL,
    -- By when the invitation came, then by when it was accepted: the lowest accepted one has stood longest.
    turn bigint NOT NULL,
    PRIMARY KEY (group_id, account_id),
    CHECK (status = 'Accepted' OR NOT is_sharing),
    CHECK ((status = 'Invited') = (invited_by IS NOT NULL))
);
CREATE INDEX members_by_account ON groups.members (account_id);
CREATE INDEX members_by_inviter ON groups.members (invited_by) WHERE invited_by IS NOT NULL;

-- The latest fix of a member, overwritten in place: no history. The row exists only while the member shares.
CREATE TABLE groups.fixes (
    group_id uuid NOT NULL,
    account_id uuid NOT NULL,
    latitude double precision NOT NULL CHECK (latitude BETWEEN -90 AND 90),
    longitude double precision NOT NULL CHECK (longitude BETWEEN -180 AND 180),
    accuracy_meters double precision CHECK (accuracy_meters BETWEEN 0 AND 100000),
    -- The phone's clock; shown, and nothing is ordered by it.
    timestamp_ms bigint NOT NULL,
    received_at_ms bigint NOT NULL,
    PRIMARY KEY (group_id, account_id),
    FOREIGN KEY (group_id, account_id) REFERENCES groups.members (group_id, account_id)
        ON DELETE CASCADE
);

-- A place that a member shares; it goes with the membership.
CREATE TABLE groups.places (
    id uuid PRIMARY KEY,
    group_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    -- The phone's own number: unique for its owner alone, so others know the place by `id`.
    client_place_id bigint NOT NULL CHECK (client_place_id <> 0),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
    radius_meters double precision NOT NULL CHECK (radius_meters > 0 AND radius_meters <= 50000),
    -- The place's JSON as it was sent, given back byte for byte.
    payload text NOT NULL CHECK (octet_length(payload) <= 65536),
    created_at_ms bigint NOT NULL,
    turn bigint NOT NULL,
    UNIQUE (group_id, owner_id, client_place_id),
    FOREIGN KEY (group_id, owner_id) REFERENCES groups.members (group_id, account_id)
        ON DELETE CASCADE
);
CREATE INDEX places_by_turn ON groups.places (group_id, turn DESC);

-- Arrivals and departures, numbered by us in each circle. The place may be gone: events stay in the feed.
CREATE TABLE groups.events (
    group_id uuid NOT NULL REFERENCES groups.groups (id) ON DELETE CASCADE,
    seq bigint NOT NULL,
    id uuid NOT NULL UNIQUE,
    account_id uuid NOT NULL,
    place_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('Arrive', 'Depart')),
    -- The phone's clock; shown and filtered by on request, and nothing is ordered by it.
    timestamp_ms bigint NOT NULL,
    -- The phone's own id of the event, so that a repeat makes no second one.
    client_event_id uuid,
    PRIMARY KEY (group_id, seq),
    UNIQUE (group_id, account_id, client_event_id)
);
CREATE INDEX events_by_account ON groups.events (account_id);
