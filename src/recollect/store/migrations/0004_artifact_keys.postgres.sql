-- Keys of artifacts, as in 0004_artifact_keys.sqlite.sql. Whatever removes artifacts removes their keys with them.

CREATE TABLE artifact_keys (
  space bigint NOT NULL,
  key bigint NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (space, key, number)
);
CREATE INDEX artifact_keys_of ON artifact_keys (space, number);
SELECT raise_wall('artifact_keys');

DELETE FROM artifacts;
DELETE FROM journal;
DELETE FROM artifact_edges;
DELETE FROM event_tags;
INSERT INTO derivations (space, upto) SELECT space, 0 FROM spaces WHERE events > 0
ON CONFLICT (space) DO UPDATE SET upto = 0;
