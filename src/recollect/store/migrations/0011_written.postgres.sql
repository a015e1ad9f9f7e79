-- What an LLM wrote, as in 0011_written.sqlite.sql.

CREATE TABLE written_sessions (
  space bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  events bigint NOT NULL,
  extractor text COLLATE "C" NOT NULL,
  refused bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  session_hash bigint GENERATED ALWAYS AS (hashtextextended(session, 0)) STORED,
  PRIMARY KEY (space, session_hash)
);
SELECT raise_wall('written_sessions');

CREATE TABLE fold_plans (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  place bigint NOT NULL,
  extractor text COLLATE "C" NOT NULL,
  refused bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq, place)
);
SELECT raise_wall('fold_plans');

CREATE TABLE fold_plan_sources (
  space bigint NOT NULL,
  source bigint NOT NULL,
  seq bigint NOT NULL,
  place bigint NOT NULL,
  PRIMARY KEY (space, source, seq, place)
);
CREATE INDEX fold_plan_sources_of ON fold_plan_sources (space, seq, place);
SELECT raise_wall('fold_plan_sources');
