-- The temporal graph, as in 0005_graph.sqlite.sql. Rows that there belong to a space by what they point to say so
-- themselves here: whose they are follows from the transaction that writes them.

CREATE TABLE names (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  home text COLLATE "C" NOT NULL,
  changed bigint NOT NULL,
  events bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  -- An index row can't hold the longest names; their beginnings are in the same order.
  key_start text COLLATE "C" GENERATED ALWAYS AS (left(key, 256)) STORED,
  PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX names_id ON names (space, id);
CREATE INDEX names_home ON names (space, home);
CREATE INDEX names_key ON names (space, key_start);
CREATE INDEX names_changed ON names (space, changed);
SELECT raise_wall('names');

CREATE TABLE mentions (
  space bigint NOT NULL,
  name bigint NOT NULL,
  seq bigint NOT NULL,
  start bigint NOT NULL,
  stop bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  votes bigint NOT NULL,
  body text COLLATE "C",
  PRIMARY KEY (space, name, seq, start)
);
CREATE INDEX mentions_seq ON mentions (space, seq);
SELECT raise_wall('mentions');

CREATE TABLE claims (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  seq bigint NOT NULL,
  start bigint NOT NULL,
  stop bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  relation text COLLATE "C" NOT NULL,
  object text COLLATE "C" NOT NULL,
  valid_from bigint,
  begun_by bigint,
  holds_at bigint,
  valid_to bigint,
  ended_by bigint,
  body text COLLATE "C" NOT NULL,
  object_hash bigint GENERATED ALWAYS AS (hashtextextended(object, 0)) STORED,
  PRIMARY KEY (space, number)
);
CREATE INDEX claims_seq ON claims (space, seq);
CREATE INDEX claims_subject ON claims (space, subject, relation);
CREATE INDEX claims_object ON claims (space, object_hash);
SELECT raise_wall('claims');

CREATE TABLE facts (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  id text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  relation text COLLATE "C" NOT NULL,
  object text COLLATE "C" NOT NULL,
  single bigint NOT NULL,
  conflicts bigint NOT NULL,
  valid_from bigint,
  valid_to bigint,
  body text COLLATE "C" NOT NULL,
  object_hash bigint GENERATED ALWAYS AS (hashtextextended(object, 0)) STORED,
  PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX facts_id ON facts (space, id);
CREATE INDEX facts_subject ON facts (space, subject, relation);
CREATE INDEX facts_object ON facts (space, object_hash);
CREATE INDEX facts_conflicts ON facts (space, subject) WHERE conflicts = 1;
CREATE UNIQUE INDEX facts_one_open ON facts (space, subject, relation)
  WHERE single = 1 AND valid_to IS NULL AND conflicts = 0;
SELECT raise_wall('facts');

CREATE TABLE fact_claims (
  space bigint NOT NULL DEFAULT walled_space(),
  fact bigint NOT NULL,
  claim bigint NOT NULL,
  PRIMARY KEY (space, fact, claim)
);
CREATE INDEX fact_claims_claim ON fact_claims (space, claim);
SELECT raise_wall('fact_claims');

CREATE TABLE session_summaries (
  space bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  events bigint NOT NULL,
  pending bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  session_hash bigint GENERATED ALWAYS AS (hashtextextended(session, 0)) STORED,
  PRIMARY KEY (space, session_hash)
);
SELECT raise_wall('session_summaries');

CREATE TABLE entity_edits (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  at bigint NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('merge', 'split')),
  undone bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (space, number)
);
SELECT raise_wall('entity_edits');

CREATE TABLE entity_pins (
  space bigint NOT NULL DEFAULT walled_space(),
  edit bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, edit, name)
);
SELECT raise_wall('entity_pins');

CREATE TABLE graphs (
  space bigint PRIMARY KEY,
  upto bigint,
  version bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 0
);
SELECT raise_wall('graphs');

INSERT INTO graphs (space, upto) SELECT space, 0 FROM spaces WHERE events > 0;
