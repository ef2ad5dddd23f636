-- What tells independent witnesses apart, and one more field of a session.

ALTER TABLE verifier.rides
    -- The furthest back that points since the latest match were found to be; cleared with along_shape.
    ADD COLUMN regressed_to double precision,
    -- Where and when the rider's app was installed, as far as its token says: a keyed hash of a block of addresses, a hash of
    -- platform, app and version. Only for as long as the ride is under way.
    ADD COLUMN address_block bigint,
    ADD COLUMN installed_at timestamptz,
    ADD COLUMN install_build bigint,
    ADD CHECK (status = 'active'
        OR (regressed_to IS NULL AND address_block IS NULL AND installed_at IS NULL AND install_build IS NULL));
