-- The concept graph: concepts, their edges, and the journal of every change. All of it is derived: `rebuild` folds it
-- anew from `events`. Nothing is overwritten: a change closes a row and adds another, each with the event that caused
-- it. So the graph as it was at any time can be read, and what came after an event can be taken back.

-- One row a version of a concept's wording.
CREATE TABLE fold_nodes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  id TEXT NOT NULL,
  label_key TEXT NOT NULL,                    -- the label, case-folded: two concepts of one label are one
  born INTEGER NOT NULL,                      -- seq of the event that caused it
  born_at INTEGER NOT NULL,                   -- when the memory learned of that event
  born_by INTEGER NOT NULL,                   -- number of the entry in the journal
  closed INTEGER,
  closed_at INTEGER,
  closed_by INTEGER,
  merged_into TEXT,
  body TEXT NOT NULL                          -- label, description, keys, names, theme; JSON
) STRICT;

CREATE INDEX fold_nodes_id ON fold_nodes (space, id);
CREATE INDEX fold_nodes_label ON fold_nodes (space, label_key) WHERE closed IS NULL;
CREATE INDEX fold_nodes_open ON fold_nodes (space, closed, number);
CREATE INDEX fold_nodes_born ON fold_nodes (space, born);
CREATE INDEX fold_nodes_closed ON fold_nodes (space, closed) WHERE closed IS NOT NULL;
CREATE INDEX fold_nodes_born_by ON fold_nodes (born_by);
CREATE INDEX fold_nodes_closed_by ON fold_nodes (closed_by) WHERE closed_by IS NOT NULL;

-- One row a support of an edge: the event that it rests on, and when that happened. Of what is merged, the rows of the
-- one that is absorbed are closed and those of the other added.
CREATE TABLE fold_edges (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  weight REAL NOT NULL,
  seq INTEGER NOT NULL,                       -- of the event that supports it
  at INTEGER NOT NULL,                        -- when that event happened
  born INTEGER NOT NULL,
  born_at INTEGER NOT NULL,
  born_by INTEGER NOT NULL,
  closed INTEGER,
  closed_at INTEGER,
  closed_by INTEGER,
  reason TEXT NOT NULL
) STRICT;

CREATE INDEX fold_edges_source ON fold_edges (space, source, kind);
CREATE INDEX fold_edges_target ON fold_edges (space, target, kind);
CREATE INDEX fold_edges_event ON fold_edges (space, seq);
CREATE INDEX fold_edges_born ON fold_edges (space, born);
CREATE INDEX fold_edges_closed ON fold_edges (space, closed) WHERE closed IS NOT NULL;
CREATE INDEX fold_edges_born_by ON fold_edges (born_by);
CREATE INDEX fold_edges_closed_by ON fold_edges (closed_by) WHERE closed_by IS NOT NULL;

CREATE TABLE fold_journal (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  id TEXT NOT NULL,
  seq INTEGER NOT NULL,                       -- of the event that caused it
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  debt TEXT NOT NULL,
  node TEXT NOT NULL,
  target TEXT,
  edge TEXT,
  reason TEXT NOT NULL,
  events TEXT NOT NULL,                       -- ids of the events that it rests on, JSON
  undone INTEGER                              -- seq of the event that took it back
) STRICT;

CREATE UNIQUE INDEX fold_journal_id ON fold_journal (space, id);
CREATE INDEX fold_journal_seq ON fold_journal (space, seq);
CREATE INDEX fold_journal_node ON fold_journal (space, node);
CREATE INDEX fold_journal_target ON fold_journal (space, target);

-- Whom a person told to stay apart: a change that was taken back is not made again.
CREATE TABLE fold_apart (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  one TEXT NOT NULL,
  other TEXT NOT NULL,
  PRIMARY KEY (space, seq, one, other)
) STRICT, WITHOUT ROWID;

-- The concepts at work: sums and words that follow from their events, kept so that a new process need not read those.
CREATE TABLE fold_work (
  space INTEGER NOT NULL,
  id TEXT NOT NULL,
  touched INTEGER NOT NULL,                   -- seq of the event that last changed it
  size INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  total BLOB NOT NULL,                        -- the sum of its events' vectors, 64-bit floats that are whole numbers
  recent TEXT NOT NULL,                       -- words and names of its latest events, JSON
  PRIMARY KEY (space, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX fold_work_touched ON fold_work (space, touched);

-- Events that look for company, or did until an event came.
CREATE TABLE fold_loose (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  settled INTEGER,                            -- seq of the event from which on it looks no more
  at INTEGER NOT NULL,
  vector BLOB NOT NULL,
  body TEXT NOT NULL,                         -- its words, names and themes; JSON
  PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX fold_loose_settled ON fold_loose (space, settled);

-- How far each space is folded, and by which profile and model.
CREATE TABLE fold_marks (
  space INTEGER PRIMARY KEY,
  upto INTEGER NOT NULL,
  epoch INTEGER NOT NULL,                     -- moves when something is taken back
  profile TEXT NOT NULL
) STRICT;
