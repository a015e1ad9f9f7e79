-- A wing's events in the order of time: what was last in a project is found at once, however long ago that was.

DROP INDEX events_wing;
CREATE INDEX events_wing ON events (space, wing, at) WHERE wing IS NOT NULL;
