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
  body TEXT,                                  -- the relation in "my sister Mia"; JSON
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

-- What a session was about: sentences by their places, and phrases.
CREATE TABLE session_summaries (
  space INTEGER NOT NULL,
  session TEXT NOT NULL,
  events INTEGER NOT NULL,                    -- how many it was made of
  pending INTEGER NOT NULL,                   -- how many came since
  body TEXT NOT NULL,
  PRIMARY KEY (space, session)
) STRICT, WITHOUT ROWID;

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
  upto INTEGER,                               -- events behind this one are still to be read; NULL: none
  version INTEGER NOT NULL DEFAULT 0,         -- moves with every change of names
  epoch INTEGER NOT NULL DEFAULT 0            -- moves when names go: caches in memory start anew
) STRICT;

-- A memory that is older than its graph reads all its events once.
INSERT INTO graphs (space, upto) SELECT id, 0 FROM spaces WHERE events > 0;
