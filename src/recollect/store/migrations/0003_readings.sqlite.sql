-- Readings: what an LLM found stated in an event. Unlike what rules find, it can't be had again offline: so `rebuild`
-- starts from it, and only forgetting removes it.

CREATE TABLE readings (
  space INTEGER NOT NULL,
  seq INTEGER NOT NULL,                       -- of the event that was read
  extractor TEXT NOT NULL,                    -- which prompts, which model
  body TEXT NOT NULL,                         -- drafts by their spans, and what was refused and why; JSON
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
