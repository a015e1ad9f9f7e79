-- The schema of a memory in one SQLite file.
--
-- The log is `events`. Readings, written summaries and plans come from an LLM and cannot be made again offline; edits of
-- entities, receipts, forgotten tags, accesses, imports, API keys and webhooks are not derived either. `rebuild` makes
-- everything else anew from `events`.

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
  last_seq INTEGER NOT NULL DEFAULT 0,        -- of the last event that was added, also if it was forgotten since
  epoch INTEGER NOT NULL DEFAULT 0,           -- moves when anything is removed or rebuilt: caches in memory start anew
  analysis INTEGER NOT NULL                   -- the version of the analysis of texts that made the postings
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
  source TEXT NOT NULL DEFAULT 'user',        -- user, assistant, import, tool or web
  record TEXT,                                -- kind of an edit (correction, retraction ...); NULL: an ordinary event
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
CREATE INDEX events_wing ON events (space, wing, at) WHERE wing IS NOT NULL;
CREATE INDEX events_recorded ON events (space, recorded_at);
CREATE INDEX events_record ON events (space, record, seq) WHERE record IS NOT NULL;
CREATE INDEX events_source ON events (space, source);
-- The log of one space in the order of arrival: rows of one key are in the order of their seq.
CREATE INDEX events_log ON events (space);

-- Terms of the newest events, one row each, until there are enough of them to make postings.
CREATE TABLE word_tail (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  length INTEGER NOT NULL,
  terms BLOB NOT NULL,                        -- n 64-bit terms, then n counts of one byte
  PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

-- For each term the events that hold it, in chunks; see storage/postings.py for the bytes.
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
  unit INTEGER PRIMARY KEY,                   -- model, event and window in one number; see storage/nearest.py
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

-- What was forgotten: counts and seqs, so that verify can tell that nothing came back.
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

-- Statements of events, each a span of its event's text; what became of them, and how they are linked.
-- All of it is derived: `rebuild` makes it anew from `events`.

-- No quote is stored: it is read from its event by its span, so that it can't differ from what was said.
CREATE TABLE statements (
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

CREATE UNIQUE INDEX statements_id ON statements (space, id);
CREATE INDEX statements_number ON statements (space, number);
CREATE INDEX statements_seq ON statements (space, seq);
CREATE INDEX statements_about ON statements (space, about, status, number);
CREATE INDEX statements_kind ON statements (space, kind, status, number);
CREATE INDEX statements_replaces ON statements (space, replaces) WHERE replaces IS NOT NULL;

-- Why each change was made, or none.
CREATE TABLE journal (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,                       -- of the event that caused it
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  statement TEXT,
  target TEXT,                                -- what it was done to
  reason TEXT NOT NULL
) STRICT;

CREATE INDEX journal_of_statement ON journal (space, statement);
CREATE INDEX journal_of_target ON journal (space, target);
CREATE INDEX journal_of_event ON journal (space, seq);

-- Facets of events: topic, relationship, action.
CREATE TABLE event_tags (
  space INTEGER NOT NULL,
  tag TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (space, tag, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_tags_seq ON event_tags (space, seq);

-- The members of events' meta that filters find by an index: names and values as JSON writes them, both short.
CREATE TABLE event_meta (
  space INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  seq INTEGER NOT NULL,
  number REAL,                                -- the value, if it is a number
  PRIMARY KEY (space, name, value, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_meta_number ON event_meta (space, name, number) WHERE number IS NOT NULL;

-- The cursors of the views: each view has applied the events of a space up to `upto`. A view without a row starts at 0.
CREATE TABLE views (
  space INTEGER NOT NULL,
  name TEXT NOT NULL,                         -- statements, facts, sessions, intents, concepts
  version INTEGER NOT NULL,                   -- of the code that derived it; an older one is derived again
  upto INTEGER NOT NULL,
  PRIMARY KEY (space, name)
) STRICT, WITHOUT ROWID;

-- Readings: what an LLM found stated in an event. Unlike what rules find, it can't be had again offline: so `rebuild`
-- starts from it, and only forgetting removes it.

CREATE TABLE readings (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,                       -- of the event that was read
  extractor TEXT NOT NULL,                    -- which prompts, which model
  body TEXT NOT NULL,                         -- drafts by their spans, and what was refused and why; JSON
  PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

-- What the reader, our own model, found in an event, and how it compared its statements with earlier ones. Kept so that
-- forgetting and `rebuild` need not run the model again; events in which nothing was found have no row.
CREATE TABLE model_readings (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,                       -- of the event that was read
  model TEXT NOT NULL,                        -- name/version
  body TEXT NOT NULL,                         -- names and statements by their spans, and comparisons; JSON
  PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

-- The other events whose words a reading uses: forgetting one of them undoes the reading.
CREATE TABLE reading_sources (
  space INTEGER NOT NULL,
  source INTEGER NOT NULL,                    -- seq of the event that was shown beside the one that was read
  seq INTEGER NOT NULL,
  PRIMARY KEY (space, source, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX reading_sources_of ON reading_sources (space, seq);

-- What a new statement is compared with, found by keys: slots, words, deeds. So the cost of a statement does not grow
-- with all that is known about somebody. Only what is current has keys.

CREATE TABLE statement_keys (
  space INTEGER NOT NULL,
  key INTEGER NOT NULL,                       -- a hash of whom it is about and of what it is compared by
  number INTEGER NOT NULL REFERENCES statements (number) ON DELETE CASCADE,
  PRIMARY KEY (space, key, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX statement_keys_of ON statement_keys (number);

-- The temporal graph: names and whom they belong to, where events name them, what events claim, and the facts that
-- follow. All but the edits is derived: `rebuild` makes it anew from `events`.

-- A name as people write it, folded. Those with the same `home` are one entity, whose id that is.
CREATE TABLE names (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces (id),
  id TEXT NOT NULL,                           -- follows from the name
  key TEXT NOT NULL,                          -- the name, folded
  home TEXT NOT NULL,                         -- the id of the name whose entity it belongs to
  changed INTEGER NOT NULL,                   -- the graph's version when it last changed: what caches read anew
  events INTEGER NOT NULL,                    -- how many name it
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  body TEXT NOT NULL                          -- spellings, votes for each type, whose relation it is; JSON
) STRICT;

CREATE UNIQUE INDEX names_id ON names (space, id);
CREATE INDEX names_home ON names (space, home);
CREATE INDEX names_key ON names (space, key);
CREATE INDEX names_changed ON names (space, changed);

-- Where an event has which name; the words are read from the event.
CREATE TABLE mentions (
  space INTEGER NOT NULL,
  name INTEGER NOT NULL,                      -- number of the name
  seq INTEGER NOT NULL,
  start INTEGER NOT NULL,                     -- -1: it is who speaks; -2: it was only known, and led to other words
  stop INTEGER NOT NULL,
  type TEXT NOT NULL,
  votes INTEGER NOT NULL,                     -- hundredths: how sure
  PRIMARY KEY (space, name, seq, start)
) STRICT, WITHOUT ROWID;

CREATE INDEX mentions_seq ON mentions (space, seq);

-- What an event claims, by the names as they were said; no quote: it is read from its event by its place.
CREATE TABLE claims (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces (id),
  seq INTEGER NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  subject TEXT NOT NULL,                      -- id of a name
  relation TEXT NOT NULL,
  object TEXT NOT NULL,                       -- id of a name, or words
  valid_from INTEGER,
  begun_by INTEGER,
  holds_at INTEGER,
  valid_to INTEGER,
  ended_by INTEGER,
  body TEXT NOT NULL                          -- names as they were said, confidence, extractor; JSON
) STRICT;

CREATE INDEX claims_seq ON claims (space, seq);
CREATE INDEX claims_subject ON claims (space, subject, relation, object);
CREATE INDEX claims_object ON claims (space, object);

-- What is true when, as far as all claims tell.
CREATE TABLE facts (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces (id),
  id TEXT NOT NULL,
  subject TEXT NOT NULL,                      -- id of an entity
  relation TEXT NOT NULL,
  object TEXT NOT NULL,                       -- id of an entity, or words
  single INTEGER NOT NULL,                    -- 1: one object at a time
  conflicts INTEGER NOT NULL,                 -- 1: another says otherwise of the same time
  valid_from INTEGER,
  valid_to INTEGER,
  body TEXT NOT NULL                          -- names, times with their zones, confidence; JSON
) STRICT;

CREATE UNIQUE INDEX facts_id ON facts (space, id);
CREATE INDEX facts_subject ON facts (space, subject, relation, object);
CREATE INDEX facts_object ON facts (space, object);
CREATE INDEX facts_conflicts ON facts (space, subject) WHERE conflicts = 1;
-- One home, one spouse, one employer at a time.
CREATE UNIQUE INDEX facts_one_open ON facts (space, subject, relation)
  WHERE single = 1 AND valid_to IS NULL AND conflicts = 0;

-- Which claims a fact rests on.
CREATE TABLE fact_claims (
  fact INTEGER NOT NULL,
  claim INTEGER NOT NULL,
  PRIMARY KEY (fact, claim)
) STRICT, WITHOUT ROWID;

CREATE INDEX fact_claims_claim ON fact_claims (claim);

-- What people said by hand of who is who. Not derived: `rebuild` keeps it. No name is stored, only ids.
CREATE TABLE entity_edits (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces (id),
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('merge', 'split')),
  undone INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX entity_edits_of ON entity_edits (space);

CREATE TABLE entity_pins (
  edit INTEGER NOT NULL,
  name TEXT NOT NULL,                         -- id of a name
  target TEXT NOT NULL,                       -- id of the entity that it belongs to
  PRIMARY KEY (edit, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE graphs (
  space INTEGER PRIMARY KEY,
  version INTEGER NOT NULL DEFAULT 0,         -- moves with every change of names
  epoch INTEGER NOT NULL DEFAULT 0            -- moves when names go: caches in memory start anew
) STRICT;

-- Imports: how far each file was read, so that one that has not changed is not read again, and one that has grown is
-- read from where reading stopped. Written in the transaction of the events that were read. Nothing rests on it: without
-- it files are read again, and what is known already stays as it is.

CREATE TABLE imports (
  space INTEGER NOT NULL REFERENCES spaces (id),
  path TEXT NOT NULL,                         -- of the file; a file in a zip by the zip's path and its name in there
  reading TEXT NOT NULL,                      -- how it was read: format, its version, wing, with or without secrets
  bytes INTEGER NOT NULL,
  modified INTEGER NOT NULL,                  -- nanoseconds since 1970; 0 where a later change might not show
  hash BLOB NOT NULL,                         -- SHA-256 of the first so many bytes
  position TEXT NOT NULL,                     -- where reading goes on, as the format names places; JSON
  events INTEGER NOT NULL,                    -- read from it so far
  whole INTEGER NOT NULL,                     -- 1: all that was there has been read
  PRIMARY KEY (space, path)
) STRICT, WITHOUT ROWID;

-- What the service needs: who may ask, and who is told of changes. None of it is derived from the log.

-- Only the hash of a key's random part is kept.
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL,
  name TEXT NOT NULL,
  permission TEXT NOT NULL,
  spaces TEXT NOT NULL,                       -- names and patterns, JSON
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- A webhook is its own queue: everything after its position in the feed of its space waits to be sent.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  space TEXT NOT NULL,
  url TEXT NOT NULL,
  secret TEXT NOT NULL,                       -- what deliveries are signed with
  kinds TEXT NOT NULL,                        -- which changes are sent, JSON; none: all
  created_at INTEGER NOT NULL,
  position TEXT NOT NULL,                     -- in the feed: sent and acknowledged up to here
  delivered INTEGER NOT NULL DEFAULT 0,       -- how many changes
  attempts INTEGER NOT NULL DEFAULT 0,        -- that failed since the last success
  due_at INTEGER NOT NULL DEFAULT 0,
  error TEXT
) STRICT, WITHOUT ROWID;

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
  reason TEXT                                 -- NULL: that of the entry born_by
) STRICT;

CREATE INDEX fold_edges_source ON fold_edges (space, source) WHERE kind NOT IN ('grounds', 'reinforces');
CREATE INDEX fold_edges_target ON fold_edges (space, target, kind);
CREATE INDEX fold_edges_event ON fold_edges (space, seq);
CREATE INDEX fold_edges_born ON fold_edges (space, born);
CREATE INDEX fold_edges_closed ON fold_edges (space, closed) WHERE closed IS NOT NULL;
CREATE INDEX fold_edges_born_by ON fold_edges (born_by);
CREATE INDEX fold_edges_closed_by ON fold_edges (closed_by) WHERE closed_by IS NOT NULL;
-- The events of each concept and the edges between concepts that hold now: merges leave many closed edges behind.
CREATE INDEX fold_edges_members ON fold_edges (space, target, number, seq, at, kind, closed)
  WHERE closed IS NULL AND kind IN ('grounds', 'reinforces');
CREATE INDEX fold_edges_joining ON fold_edges (space, source, target)
  WHERE closed IS NULL AND kind IN ('causes', 'related_to');
CREATE INDEX fold_edges_joined ON fold_edges (space, target, source)
  WHERE closed IS NULL AND kind IN ('causes', 'related_to');

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
  events TEXT,                                -- ids of the events that it rests on, JSON; NULL: the node, an event
  undone INTEGER                              -- seq of the event that took it back
) STRICT;

CREATE UNIQUE INDEX fold_journal_id ON fold_journal (space, id);
CREATE INDEX fold_journal_seq ON fold_journal (space, seq);
CREATE INDEX fold_journal_node ON fold_journal (space, node);
CREATE INDEX fold_journal_target ON fold_journal (space, target);

-- Pairs of concepts that a person separated; they aren't merged again.
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
  total BLOB NOT NULL,                        -- the sum of its events' vectors, 32-bit whole numbers
  recent TEXT NOT NULL,                       -- numbers and words of its latest events, JSON
  PRIMARY KEY (space, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX fold_work_touched ON fold_work (space, touched);

-- Events that belong to no concept yet, or belonged to none until a later event.
CREATE TABLE fold_loose (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  settled INTEGER,                            -- seq of the event from which on it looks no more
  PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX fold_loose_settled ON fold_loose (space, settled);

-- By which profile each space is folded.
CREATE TABLE fold_marks (
  space INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,                     -- moves when something is taken back
  profile TEXT NOT NULL
) STRICT;

-- Attention: the places in events that intents are made of, and how often events were recalled.

-- How often an event was among what a question found. Not derived: only forgetting removes it.
CREATE TABLE accesses (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX accesses_by_count ON accesses (space, count, seq);

-- What an LLM wrote of many events: summaries of sessions, and plans for the concept graph. Like readings it can't be had
-- again offline: `rebuild` starts from it, and only forgetting removes it.

CREATE TABLE written_sessions (
  space INTEGER NOT NULL,
  session TEXT NOT NULL,
  events INTEGER NOT NULL,                    -- how many it was written of: with more, it is stale
  extractor TEXT NOT NULL,                    -- which prompt, which model
  refused INTEGER NOT NULL,                   -- sentences that were not let in
  body TEXT NOT NULL,                         -- sentences, each with the events that it cites; JSON
  PRIMARY KEY (space, session)
) STRICT, WITHOUT ROWID;

-- A plan is carried out whenever the event is folded after which it was proposed.
CREATE TABLE fold_plans (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,                       -- of the last event that was folded then
  place INTEGER NOT NULL,                     -- its number among the plans after that event
  extractor TEXT NOT NULL,
  refused INTEGER NOT NULL,                   -- 1: it was not let in, and is kept to be counted
  body TEXT NOT NULL,                         -- operations, by ids; JSON
  PRIMARY KEY (space, seq, place)
) STRICT, WITHOUT ROWID;

-- The events whose words a plan uses, or on which it rests: forgetting one of them undoes the plan.
CREATE TABLE fold_plan_sources (
  space INTEGER NOT NULL,
  source INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  place INTEGER NOT NULL,
  PRIMARY KEY (space, source, seq, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX fold_plan_sources_of ON fold_plan_sources (space, seq, place);

-- One digest a table: how many rows it has and the sum of their hashes. Each transaction that changes rows changes the
-- sums with them, so that `verify` finds a row that was changed, added or removed in any other way.
CREATE TABLE digests (
  name TEXT PRIMARY KEY,                      -- of the table
  rows INTEGER NOT NULL,
  total INTEGER NOT NULL                      -- the hashes of its rows, added up modulo 2^62; see storage/sqlite/schema.py
) STRICT, WITHOUT ROWID;

-- What was forgotten, so that imports skip it; no guess at a forgotten text can be tested against it.
-- A tag is a salted hash of an event's session, speaker and time, and six bits of its id: see storage/forgotten.py.
CREATE TABLE forgotten (
  space INTEGER NOT NULL REFERENCES spaces (id),
  tag INTEGER NOT NULL,
  PRIMARY KEY (space, tag)
) STRICT, WITHOUT ROWID;
