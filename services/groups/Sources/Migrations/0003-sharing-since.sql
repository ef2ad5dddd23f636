-- Since when a member's position may go to the others, by our clock: what came before that is not stored, however late it is written.
ALTER TABLE groups.members ADD COLUMN sharing_since_ms bigint;
UPDATE groups.members SET sharing_since_ms = 0 WHERE is_sharing;
ALTER TABLE groups.members ADD CHECK (is_sharing = (sharing_since_ms IS NOT NULL));
