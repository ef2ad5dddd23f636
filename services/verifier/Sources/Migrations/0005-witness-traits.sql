-- Bits of what was seen of a ride: 1 it moved unevenly, 2 its accuracy varied.
ALTER TABLE verifier.rides ADD COLUMN witness_traits smallint NOT NULL DEFAULT 0;
