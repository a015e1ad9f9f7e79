-- Artifacts: statements that events make, each a span of its event's text; what became of them, and how they are linked.
-- All of it is derived: `rebuild` makes it anew from `events`.

-- No quote is stored: it is read from its event by its span, so that it can't differ from what was said.
CREATE TABLE artifacts (
  number INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order in which they were derived
  space INTEGER NOT NULL REFERENCES spaces (id),
  id TEXT NOT NULL,
  seq INTEGER NOT NULL,                       -- of the event that states it
  kind TEXT NOT NULL,
  about TEXT NOT NULL,                        -- whom or what it is about, case-folded: what it is compared with
  status TEXT NOT NULL,
  replaces TEXT,                              -- the id of the version before it
  recorded_at INTEGER NOT NULL,               -- when the memory learned it
  closed_at INTEGER,                          -- when the memory learned that it is over
  valid_from INTEGER,
  valid_to INTEGER,
  body TEXT NOT NULL                          -- everything else, JSON
) STRICT;

CREATE UNIQUE INDEX artifacts_id ON artifacts (space, id);
CREATE INDEX artifacts_seq ON artifacts (space, seq);
CREATE INDEX artifacts_about ON artifacts (space, about, status, number);
CREATE INDEX artifacts_kind ON artifacts (space, kind, status, number);
CREATE INDEX artifacts_replaces ON artifacts (space, replaces) WHERE replaces IS NOT NULL;

-- Why each change was made, or none.
CREATE TABLE journal (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,                       -- of the event that caused it
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  artifact TEXT,
  target TEXT,                                -- what it was done to
  reason TEXT NOT NULL
) STRICT;

CREATE INDEX journal_of_artifact ON journal (space, artifact);
CREATE INDEX journal_of_target ON journal (space, target);
CREATE INDEX journal_of_event ON journal (space, seq);

CREATE TABLE artifact_edges (
  space INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  weight REAL NOT NULL,
  at INTEGER,
  reason TEXT NOT NULL,
  PRIMARY KEY (space, source, target, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_edges_target ON artifact_edges (space, target);

-- Facets of events: topic, relationship, action.
CREATE TABLE event_tags (
  space INTEGER NOT NULL,
  tag TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (space, tag, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_tags_seq ON event_tags (space, seq);

-- Spaces where deriving is behind the log: events up to `upto` are done. None here: all are.
CREATE TABLE derivations (
  space INTEGER PRIMARY KEY,
  upto INTEGER NOT NULL
) STRICT;

INSERT INTO derivations (space, upto) SELECT id, 0 FROM spaces WHERE events > 0;
