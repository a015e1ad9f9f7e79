-- What a new statement is compared with, found by keys: slots, words, deeds. So the cost of a statement does not grow
-- with all that is known about somebody. Only what is current has keys.

CREATE TABLE artifact_keys (
  space INTEGER NOT NULL,
  key INTEGER NOT NULL,                       -- a hash of whom it is about and of what it is compared by
  number INTEGER NOT NULL REFERENCES artifacts (number) ON DELETE CASCADE,
  PRIMARY KEY (space, key, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_keys_of ON artifact_keys (number);

-- What was derived before has none: it is derived anew.
DELETE FROM artifacts;
DELETE FROM journal;
DELETE FROM artifact_edges;
DELETE FROM event_tags;
INSERT OR REPLACE INTO derivations (space, upto) SELECT id, 0 FROM spaces WHERE events > 0;
