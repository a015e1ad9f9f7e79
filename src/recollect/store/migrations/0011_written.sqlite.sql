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
