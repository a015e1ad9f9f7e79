-- The log and its indexes. Everything but `events` and `receipts` can be rebuilt from `events`.

-- A hard wall: every row of every other table belongs to one space, and no query crosses it.
CREATE TABLE spaces (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  events INTEGER NOT NULL DEFAULT 0,          -- how many events are in the log
  words INTEGER NOT NULL DEFAULT 0,           -- the sum of their lengths in terms, for BM25's average
  generation INTEGER NOT NULL DEFAULT 1,      -- which postings are searched; rebuild fills the next one beside it
  next_generation INTEGER NOT NULL DEFAULT 2, -- the number that the next rebuild takes
  words_upto INTEGER NOT NULL DEFAULT 0,      -- events up to this seq are in postings, later ones in word_tail
  word_tail INTEGER NOT NULL DEFAULT 0,       -- how many those later ones are
  epoch INTEGER NOT NULL DEFAULT 0            -- moves when anything is removed or rebuilt: caches in memory start anew
) STRICT;

-- The truth: append-only, verbatim. Text that is not valid Unicode (a lone surrogate) is kept as a blob.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,      -- the order of arrival, never used twice
  space INTEGER NOT NULL REFERENCES spaces (id),
  id BLOB NOT NULL,                           -- 16 bytes that follow from the key, or from the content
  content BLOB NOT NULL,                      -- hash of text, session, speaker and time: what makes two events the same
  key TEXT,
  wing TEXT,
  session TEXT,
  speaker TEXT,
  role TEXT,
  at INTEGER NOT NULL,                        -- microseconds since 1970, UTC
  at_offset INTEGER NOT NULL,                 -- seconds east of UTC, as the speaker's clock showed it
  recorded_at INTEGER NOT NULL,
  meta TEXT,
  text ANY NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_id ON events (space, id);
CREATE UNIQUE INDEX events_key ON events (space, key) WHERE key IS NOT NULL;
CREATE INDEX events_at ON events (space, at);
CREATE INDEX events_session ON events (space, session, at) WHERE session IS NOT NULL;
CREATE INDEX events_speaker ON events (space, speaker) WHERE speaker IS NOT NULL;
CREATE INDEX events_wing ON events (space, wing) WHERE wing IS NOT NULL;
CREATE INDEX events_recorded ON events (space, recorded_at);

-- Terms of the newest events, one row each, until there are enough of them to make postings.
CREATE TABLE word_tail (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  length INTEGER NOT NULL,
  terms BLOB NOT NULL,                        -- n 64-bit terms, then n counts of one byte
  PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

-- For each term the events that hold it, in chunks; see store/postings.py for the bytes.
CREATE TABLE postings (
  space INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  term INTEGER NOT NULL,
  first INTEGER NOT NULL,                     -- seq of the first event in the chunk
  chunk BLOB NOT NULL,
  PRIMARY KEY (space, generation, term, first)
) STRICT, WITHOUT ROWID;

-- Whose vectors these are. At most one model is 'active'; a 'building' one takes over when it is complete.
CREATE TABLE models (
  id INTEGER PRIMARY KEY AUTOINCREMENT,       -- never used twice: caches know a model by it
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  dims INTEGER NOT NULL,
  token_dims INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'building', 'retired'))
) STRICT;
CREATE UNIQUE INDEX models_one_active ON models (state) WHERE state = 'active';
CREATE UNIQUE INDEX models_one_building ON models (state) WHERE state = 'building';

-- One row a window of an event: where it lies in the text, and its packed token vectors.
CREATE TABLE vectors (
  unit INTEGER PRIMARY KEY,                   -- model, event and window in one number; see store/units.py
  space INTEGER NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  windows INTEGER NOT NULL,                   -- how many windows the event has
  tokens BLOB NOT NULL
) STRICT;

-- Pooled vectors of the newest windows, until there are enough of them to make a block.
CREATE TABLE pooled_tail (
  space INTEGER NOT NULL,
  model INTEGER NOT NULL,
  position INTEGER NOT NULL,                  -- counts up within a space and model
  unit INTEGER NOT NULL,
  pooled BLOB NOT NULL,
  PRIMARY KEY (space, model, position)
) STRICT, WITHOUT ROWID;

-- Pooled vectors side by side, so that a cold process reads a hundred thousand of them in milliseconds.
CREATE TABLE pooled_blocks (
  block INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  model INTEGER NOT NULL,
  last_position INTEGER NOT NULL,
  positions BLOB NOT NULL,                    -- 64-bit integers
  units BLOB NOT NULL,                        -- 64-bit integers
  pooled BLOB NOT NULL                        -- one row of signed bytes a unit
) STRICT;
CREATE INDEX pooled_blocks_of ON pooled_blocks (space, model, last_position);

-- Work that an event caused and that is still to be done. Committed with the event, removed with what it made.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  kind TEXT NOT NULL,
  seq INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  error TEXT
) STRICT;
CREATE UNIQUE INDEX jobs_once ON jobs (kind, seq);
CREATE INDEX jobs_of_space ON jobs (space);

-- What was forgotten: ids and hashes only, so that verify can tell that nothing came back.
CREATE TABLE receipts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  at INTEGER NOT NULL,
  upto INTEGER NOT NULL,                      -- the last seq then: an event with a higher one was remembered anew
  receipt TEXT NOT NULL
) STRICT;

-- Facts about the file itself: how its words were analysed, whether a scrub is still owed.
CREATE TABLE facts_of_file (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
