-- What was answered to an event that came with the phone's own id: a repeat gets it again, whatever became of the place, the event or the
-- member's sharing since. The newest 500 of each member in each circle, as many as the circle keeps events.
CREATE TABLE groups.event_answers (
    group_id uuid NOT NULL REFERENCES groups.groups (id) ON DELETE CASCADE,
    account_id uuid NOT NULL,
    client_event_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    place_id uuid NOT NULL,
    -- The place's name at that time.
    place_name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('Arrive', 'Depart')),
    timestamp_ms bigint NOT NULL,
    PRIMARY KEY (group_id, account_id, client_event_id)
);
CREATE INDEX event_answers_by_account ON groups.event_answers (account_id, group_id, seq);

INSERT INTO groups.event_answers
SELECT e.group_id, e.account_id, e.client_event_id, e.seq, e.id, e.place_id, COALESCE(p.name, ''), e.kind, e.timestamp_ms
FROM groups.events e LEFT JOIN groups.places p ON p.id = e.place_id AND p.group_id = e.group_id
WHERE e.client_event_id IS NOT NULL;

ALTER TABLE groups.events DROP COLUMN client_event_id;
