-- Attention: the places in events that intents and beliefs are made of, and how often events were recalled.

-- Derived, event by event: `rebuild` makes it anew from `events`. What it comes to is computed when it is asked for.
CREATE TABLE marks (
  space INTEGER NOT NULL,
  kind TEXT NOT NULL,                         -- goal, deed, answer, state
  seq INTEGER NOT NULL,                       -- of the event
  place INTEGER NOT NULL,                     -- its number among the marks of the event
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  body TEXT NOT NULL,                         -- JSON
  PRIMARY KEY (space, kind, seq, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX marks_of_event ON marks (space, seq);

-- Spaces where marks are behind the log: events up to `upto` are read. None here: all are.
CREATE TABLE marking (
  space INTEGER PRIMARY KEY,
  upto INTEGER NOT NULL
) STRICT;

INSERT INTO marking (space, upto) SELECT id, 0 FROM spaces WHERE events > 0;

-- How often an event was among what a question found. Not derived: only forgetting removes it.
CREATE TABLE accesses (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX accesses_by_count ON accesses (space, count, seq);
