-- A wing's events in the order of time, as in 0009_wings_in_time.sqlite.sql.

DROP INDEX events_wing;
CREATE INDEX events_wing ON events (space, wing_hash, at, seq) WHERE wing_hash IS NOT NULL;
