-- The concept graph, as in 0008_folding.sqlite.sql.

CREATE TABLE fold_nodes (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  id text COLLATE "C" NOT NULL,
  label_key text COLLATE "C" NOT NULL,
  born bigint NOT NULL,
  born_at bigint NOT NULL,
  born_by bigint NOT NULL,
  closed bigint,
  closed_at bigint,
  closed_by bigint,
  merged_into text COLLATE "C",
  body text COLLATE "C" NOT NULL,
  label_hash bigint GENERATED ALWAYS AS (hashtextextended(label_key, 0)) STORED,
  PRIMARY KEY (space, number)
);
CREATE INDEX fold_nodes_id ON fold_nodes (space, id);
CREATE INDEX fold_nodes_label ON fold_nodes (space, label_hash) WHERE closed IS NULL;
CREATE INDEX fold_nodes_born ON fold_nodes (space, born);
CREATE INDEX fold_nodes_closed ON fold_nodes (space, closed) WHERE closed IS NOT NULL;
CREATE INDEX fold_nodes_born_by ON fold_nodes (space, born_by);
CREATE INDEX fold_nodes_closed_by ON fold_nodes (space, closed_by) WHERE closed_by IS NOT NULL;
SELECT raise_wall('fold_nodes');

CREATE TABLE fold_edges (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  source text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  weight double precision NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  born bigint NOT NULL,
  born_at bigint NOT NULL,
  born_by bigint NOT NULL,
  closed bigint,
  closed_at bigint,
  closed_by bigint,
  reason text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, number)
);
CREATE INDEX fold_edges_source ON fold_edges (space, source, kind);
CREATE INDEX fold_edges_target ON fold_edges (space, target, kind);
CREATE INDEX fold_edges_event ON fold_edges (space, seq);
CREATE INDEX fold_edges_born ON fold_edges (space, born);
CREATE INDEX fold_edges_closed ON fold_edges (space, closed) WHERE closed IS NOT NULL;
CREATE INDEX fold_edges_born_by ON fold_edges (space, born_by);
CREATE INDEX fold_edges_closed_by ON fold_edges (space, closed_by) WHERE closed_by IS NOT NULL;
SELECT raise_wall('fold_edges');

CREATE TABLE fold_journal (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  action text COLLATE "C" NOT NULL,
  debt text COLLATE "C" NOT NULL,
  node text COLLATE "C" NOT NULL,
  target text COLLATE "C",
  edge text COLLATE "C",
  reason text COLLATE "C" NOT NULL,
  events text COLLATE "C" NOT NULL,
  undone bigint,
  PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX fold_journal_id ON fold_journal (space, id);
CREATE INDEX fold_journal_seq ON fold_journal (space, seq);
CREATE INDEX fold_journal_node ON fold_journal (space, node);
CREATE INDEX fold_journal_target ON fold_journal (space, target);
SELECT raise_wall('fold_journal');

CREATE TABLE fold_apart (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  one text COLLATE "C" NOT NULL,
  other text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq, one, other)
);
SELECT raise_wall('fold_apart');

CREATE TABLE fold_work (
  space bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  touched bigint NOT NULL,
  size bigint NOT NULL,
  last_at bigint NOT NULL,
  total bytea NOT NULL,
  recent text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE INDEX fold_work_touched ON fold_work (space, touched);
SELECT raise_wall('fold_work');

CREATE TABLE fold_loose (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  settled bigint,
  at bigint NOT NULL,
  vector bytea NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE INDEX fold_loose_settled ON fold_loose (space, settled);
SELECT raise_wall('fold_loose');

CREATE TABLE fold_marks (
  space bigint PRIMARY KEY,
  upto bigint NOT NULL,
  epoch bigint NOT NULL,
  profile text COLLATE "C" NOT NULL
);
SELECT raise_wall('fold_marks');
