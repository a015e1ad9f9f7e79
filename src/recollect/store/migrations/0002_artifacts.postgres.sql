-- Artifacts, as in 0002_artifacts.sqlite.sql.

CREATE TABLE artifacts (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  about text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  replaces text COLLATE "C",
  recorded_at bigint NOT NULL,
  closed_at bigint,
  valid_from bigint,
  valid_to bigint,
  body text COLLATE "C" NOT NULL,
  about_hash bigint GENERATED ALWAYS AS (hashtextextended(about, 0)) STORED,
  PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX artifacts_id ON artifacts (space, id);
CREATE INDEX artifacts_seq ON artifacts (space, seq);
CREATE INDEX artifacts_about ON artifacts (space, about_hash, status, number);
CREATE INDEX artifacts_kind ON artifacts (space, kind, status, number);
CREATE INDEX artifacts_replaces ON artifacts (space, replaces) WHERE replaces IS NOT NULL;
SELECT raise_wall('artifacts');

CREATE TABLE journal (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  seq bigint NOT NULL,
  at bigint NOT NULL,
  action text COLLATE "C" NOT NULL,
  artifact text COLLATE "C",
  target text COLLATE "C",
  reason text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, number)
);
CREATE INDEX journal_of_artifact ON journal (space, artifact);
CREATE INDEX journal_of_target ON journal (space, target);
CREATE INDEX journal_of_event ON journal (space, seq);
SELECT raise_wall('journal');

CREATE TABLE artifact_edges (
  space bigint NOT NULL,
  source text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  weight double precision NOT NULL,
  at bigint,
  reason text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, source, target, kind)
);
CREATE INDEX artifact_edges_target ON artifact_edges (space, target);
SELECT raise_wall('artifact_edges');

CREATE TABLE event_tags (
  space bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (space, tag, seq)
);
CREATE INDEX event_tags_seq ON event_tags (space, seq);
SELECT raise_wall('event_tags');

CREATE TABLE derivations (
  space bigint PRIMARY KEY,
  upto bigint NOT NULL
);
SELECT raise_wall('derivations');

INSERT INTO derivations (space, upto) SELECT space, 0 FROM spaces WHERE events > 0;
