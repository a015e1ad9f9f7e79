-- The log of a space in the order of arrival: an index by space alone has the events of a space in the order of their
-- numbers. Without it each page of the log would look at all events of the space and sort them.
CREATE INDEX events_log ON events (space);
