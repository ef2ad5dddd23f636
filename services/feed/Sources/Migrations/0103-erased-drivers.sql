-- Drivers that were forgotten, by a digest of their ids: a report that was under way must not bring back what is gone. A row goes when no
-- token of the driver can be valid any more.
CREATE TABLE feed.erased_drivers (
    digest bytea PRIMARY KEY CHECK (octet_length(digest) = 16),
    until timestamptz NOT NULL
);

-- Where a vehicle was stays when who drove it is forgotten.
ALTER TABLE feed.location_points ALTER COLUMN driver_id DROP NOT NULL;
ALTER TABLE feed.live_vehicles ALTER COLUMN driver_id DROP NOT NULL;
-- What one driver reported, in the order of an export; forgetting looks for it, too.
CREATE INDEX location_points_by_driver ON feed.location_points (driver_id, timestamp, vehicle_id);
