-- The schema of a store on a PostgreSQL server: the tables of 0001_schema.sqlite.sql, where their columns are explained.
-- Many tenants share one server: the space leads every key and every index, so that tables can be partitioned or
-- distributed by it, and row-level security keeps each transaction to its space.
--
-- Text columns compare by bytes (COLLATE "C"), as SQLite's do. Names can be longer than an index row may be, so they are
-- found by a stored hash; who asks compares the name itself besides.

-- The wall. A transaction says whose rows it is about (`everyword.space`); rows of others can't be seen or written, also
-- where a query forgets to say which it means. '*' is for work on all spaces: taking jobs, adopting a model. Roles that
-- are not the owner's get no policy at all: they see nothing, whatever they set.
CREATE FUNCTION walled_space() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN current_setting('everyword.space', true) ~ '^-?[0-9]{1,19}$'
              THEN current_setting('everyword.space', true)::bigint END
$$;

CREATE FUNCTION raise_wall(walled regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', walled);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', walled);
  EXECUTE format(
    'CREATE POLICY wall ON %s TO CURRENT_USER USING (space = (SELECT walled_space()) '
    'OR (SELECT current_setting(''everyword.space'', true)) = ''*'')', walled);
END
$$;

-- Tables that belong to no space: for the owner's role alone.
CREATE FUNCTION raise_gate(gated regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', gated);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', gated);
  EXECUTE format('CREATE POLICY gate ON %s TO CURRENT_USER USING (true)', gated);
END
$$;

-- Read JSON that may hold what the server's text can't (NULs, lone surrogates): such escapes get another form, one to
-- one, so that equal values stay equal and others differ.
CREATE FUNCTION any_json(body text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT regexp_replace(body, '(\\\\)|\\u(0000|0001|d[89a-f][0-9a-f]{2})', '\1\\u0001\2', 'g')::json
$$;

-- Every table that has the number of a space and is not a part of another: what is partitioned, distributed or moved by
-- space.
CREATE FUNCTION tables_by_space() RETURNS SETOF regclass LANGUAGE sql STABLE AS $$
  SELECT c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND a.attname = 'space' AND a.atttypid = 'bigint'::regtype AND NOT a.attisdropped
  ORDER BY c.relname
$$;

-- Split every table by a hash of the space into so many parts, with what is in them. One statement:
-- SELECT partition_by_space(16);
CREATE FUNCTION partition_by_space(parts integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  whole regclass;
  called text;
  gated boolean;
  split integer := 0;
  columns text;
BEGIN
  PERFORM set_config('everyword.space', '*', true);
  FOR whole IN SELECT t FROM tables_by_space() t JOIN pg_class c ON c.oid = t WHERE c.relkind = 'r' LOOP
    SELECT relname INTO called FROM pg_class WHERE oid = whole;
    gated := EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = whole AND polname = 'gate');
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
    WHERE attrelid = whole AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    EXECUTE format('ALTER TABLE %s RENAME TO whole', whole);
    EXECUTE format('CREATE TABLE %I (LIKE whole INCLUDING ALL) PARTITION BY HASH (space)', called);
    FOR part IN 0 .. parts - 1 LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                     called || '_' || part, called, parts, part);
    END LOOP;
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM whole', called, columns, columns);
    DROP TABLE whole;
    IF gated THEN
      PERFORM raise_gate(called::regclass);
    ELSE
      PERFORM raise_wall(called::regclass);
    END IF;
    split := split + 1;
  END LOOP;
  RETURN split;
END
$$;

-- The numbers that SQLite counts within tables: never used twice, and rising with each arrival in a space.
CREATE SEQUENCE event_seq;
CREATE SEQUENCE row_number;

-- Spaces are numbered by a hash of their names, so that a tenant has the same number on every server.
CREATE TABLE spaces (
  space bigint PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  events bigint NOT NULL DEFAULT 0,
  words bigint NOT NULL DEFAULT 0,
  generation bigint NOT NULL DEFAULT 1,
  next_generation bigint NOT NULL DEFAULT 2,
  words_upto bigint NOT NULL DEFAULT 0,
  word_tail bigint NOT NULL DEFAULT 0,
  last_seq bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 0,
  analysis bigint NOT NULL
) WITH (fillfactor = 50);
SELECT raise_gate('spaces');

-- Locked by the worker that does a space's work: exactly one at a time. Never changed, so that writers never wait for it.
CREATE TABLE turns (
  space bigint PRIMARY KEY
);
SELECT raise_wall('turns');

CREATE TABLE events (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  id bytea NOT NULL,
  content bytea NOT NULL,
  key text COLLATE "C",
  wing text COLLATE "C",
  session text COLLATE "C",
  speaker text COLLATE "C",
  role text COLLATE "C",
  source text COLLATE "C" NOT NULL DEFAULT 'user',
  record text COLLATE "C",
  at bigint NOT NULL,
  at_offset integer NOT NULL,
  recorded_at bigint NOT NULL,
  meta text COLLATE "C",
  text text COLLATE "C" NOT NULL,
  key_hash bigint GENERATED ALWAYS AS (hashtextextended(key, 0)) STORED,
  wing_hash bigint GENERATED ALWAYS AS (hashtextextended(wing, 0)) STORED,
  session_hash bigint GENERATED ALWAYS AS (hashtextextended(session, 0)) STORED,
  speaker_hash bigint GENERATED ALWAYS AS (hashtextextended(speaker, 0)) STORED,
  PRIMARY KEY (space, seq)
);
CREATE UNIQUE INDEX events_id ON events (space, id);
CREATE INDEX events_key ON events (space, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX events_at ON events (space, at, seq);
CREATE INDEX events_session ON events (space, session_hash, at, seq) WHERE session_hash IS NOT NULL;
CREATE INDEX events_speaker ON events (space, speaker_hash) WHERE speaker_hash IS NOT NULL;
CREATE INDEX events_wing ON events (space, wing_hash, at, seq) WHERE wing_hash IS NOT NULL;
CREATE INDEX events_recorded ON events (space, recorded_at);
CREATE INDEX events_record ON events (space, record, seq) WHERE record IS NOT NULL;
CREATE INDEX events_source ON events (space, source);
-- ANALYZE copies values of columns into pg_statistic, where no rewrite of our tables reaches them.
ALTER TABLE events ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE events ALTER COLUMN meta SET STATISTICS 0;
SELECT raise_wall('events');

CREATE TABLE word_tail (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  length bigint NOT NULL,
  terms bytea NOT NULL,
  PRIMARY KEY (space, seq)
);
SELECT raise_wall('word_tail');

CREATE TABLE postings (
  space bigint NOT NULL,
  generation bigint NOT NULL,
  term bigint NOT NULL,
  first bigint NOT NULL,
  chunk bytea NOT NULL,
  PRIMARY KEY (space, generation, term, first)
);
SELECT raise_wall('postings');

CREATE TABLE models (
  id bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  dims integer NOT NULL,
  token_dims integer NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'building', 'retired'))
);
CREATE UNIQUE INDEX models_one_active ON models (state) WHERE state = 'active';
CREATE UNIQUE INDEX models_one_building ON models (state) WHERE state = 'building';
SELECT raise_gate('models');

CREATE TABLE vectors (
  space bigint NOT NULL,
  unit bigint NOT NULL,
  start integer NOT NULL,
  stop integer NOT NULL,
  windows integer NOT NULL,
  tokens bytea NOT NULL,
  PRIMARY KEY (space, unit)
);
-- Packed bits: nothing to compress, and read by the hundred, so they stay beside their keys where a page can hold them.
ALTER TABLE vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
SELECT raise_wall('vectors');

CREATE TABLE pooled_tail (
  space bigint NOT NULL,
  model bigint NOT NULL,
  position bigint NOT NULL,
  unit bigint NOT NULL,
  pooled bytea NOT NULL,
  PRIMARY KEY (space, model, position)
);
SELECT raise_wall('pooled_tail');

CREATE TABLE pooled_blocks (
  space bigint NOT NULL,
  block bigint NOT NULL DEFAULT nextval('row_number'),
  model bigint NOT NULL,
  last_position bigint NOT NULL,
  positions bytea NOT NULL,
  units bytea NOT NULL,
  pooled bytea NOT NULL,
  PRIMARY KEY (space, block)
);
ALTER TABLE pooled_blocks ALTER COLUMN pooled SET STORAGE EXTERNAL;
CREATE INDEX pooled_blocks_of ON pooled_blocks (space, model, last_position);
SELECT raise_wall('pooled_blocks');

-- The same vectors once more, one a row, for spaces that are too large to be scanned: see vector_index.py, which
-- also makes an index for each of them.
CREATE TABLE near (
  space bigint NOT NULL,
  unit bigint NOT NULL,
  pooled halfvec NOT NULL,
  PRIMARY KEY (space, unit)
);
SELECT raise_wall('near');

-- Which spaces are to search in `near`, and how far each is.
CREATE TABLE near_spaces (
  space bigint NOT NULL,
  model bigint NOT NULL,
  upto bigint NOT NULL DEFAULT 0,             -- vectors up to this position are there
  state text COLLATE "C" NOT NULL DEFAULT 'wanted' CHECK (state IN ('wanted', 'filled', 'ready')),
  PRIMARY KEY (space, model)
);
SELECT raise_gate('near_spaces');

CREATE TABLE jobs (
  space bigint NOT NULL,
  id bigint NOT NULL DEFAULT nextval('row_number'),
  kind text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  error text COLLATE "C",
  PRIMARY KEY (space, id)
);
CREATE UNIQUE INDEX jobs_once ON jobs (space, kind, seq);
SELECT raise_wall('jobs');

CREATE TABLE receipts (
  space bigint NOT NULL,
  id bigint NOT NULL DEFAULT nextval('row_number'),
  at bigint NOT NULL,
  upto bigint NOT NULL,
  receipt text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, id)
);
SELECT raise_wall('receipts');

CREATE TABLE facts_of_file (
  name text COLLATE "C" PRIMARY KEY,
  value text COLLATE "C" NOT NULL
);
SELECT raise_gate('facts_of_file');

-- Statements.

CREATE TABLE statements (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  about text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  replaces text COLLATE "C",
  recorded_at bigint NOT NULL,
  closed_at bigint,
  valid_from bigint,
  valid_to bigint,
  body text COLLATE "C" NOT NULL,
  about_hash bigint GENERATED ALWAYS AS (hashtextextended(about, 0)) STORED,
  PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX statements_id ON statements (space, id);
CREATE INDEX statements_seq ON statements (space, seq);
CREATE INDEX statements_about ON statements (space, about_hash, status, number);
CREATE INDEX statements_kind ON statements (space, kind, status, number);
CREATE INDEX statements_replaces ON statements (space, replaces) WHERE replaces IS NOT NULL;
SELECT raise_wall('statements');

CREATE TABLE journal (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  seq bigint NOT NULL,
  at bigint NOT NULL,
  action text COLLATE "C" NOT NULL,
  statement text COLLATE "C",
  target text COLLATE "C",
  reason text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, number)
);
CREATE INDEX journal_of_statement ON journal (space, statement);
CREATE INDEX journal_of_target ON journal (space, target);
CREATE INDEX journal_of_event ON journal (space, seq);
SELECT raise_wall('journal');

CREATE TABLE event_tags (
  space bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (space, tag, seq)
);
CREATE INDEX event_tags_seq ON event_tags (space, seq);
SELECT raise_wall('event_tags');

CREATE TABLE event_meta (
  space bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  number double precision,
  PRIMARY KEY (space, name, value, seq)
);
CREATE INDEX event_meta_number ON event_meta (space, name, number) WHERE number IS NOT NULL;
SELECT raise_wall('event_meta');

CREATE TABLE views (
  space bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  upto bigint NOT NULL,
  PRIMARY KEY (space, name)
);
SELECT raise_wall('views');

-- Readings.

CREATE TABLE readings (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  extractor text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq)
);
SELECT raise_wall('readings');

CREATE TABLE model_readings (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  model text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq)
);
SELECT raise_wall('model_readings');

CREATE TABLE reading_sources (
  space bigint NOT NULL,
  source bigint NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (space, source, seq)
);
CREATE INDEX reading_sources_of ON reading_sources (space, seq);
SELECT raise_wall('reading_sources');

-- Keys of statements. Whatever removes statements removes their keys with them.

CREATE TABLE statement_keys (
  space bigint NOT NULL,
  key bigint NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (space, key, number)
);
CREATE INDEX statement_keys_of ON statement_keys (space, number);
SELECT raise_wall('statement_keys');

-- The temporal graph. Rows that there belong to a space by what they point to say so
-- themselves here: whose they are follows from the transaction that writes them.

CREATE TABLE names (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  home text COLLATE "C" NOT NULL,
  changed bigint NOT NULL,
  events bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  -- An index row can't hold the longest names; their beginnings are in the same order.
  key_start text COLLATE "C" GENERATED ALWAYS AS (left(key, 256)) STORED,
  PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX names_id ON names (space, id);
CREATE INDEX names_home ON names (space, home);
CREATE INDEX names_key ON names (space, key_start);
CREATE INDEX names_changed ON names (space, changed);
SELECT raise_wall('names');

CREATE TABLE mentions (
  space bigint NOT NULL,
  name bigint NOT NULL,
  seq bigint NOT NULL,
  start bigint NOT NULL,
  stop bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  votes bigint NOT NULL,
  PRIMARY KEY (space, name, seq, start)
);
CREATE INDEX mentions_seq ON mentions (space, seq);
SELECT raise_wall('mentions');

CREATE TABLE claims (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  seq bigint NOT NULL,
  start bigint NOT NULL,
  stop bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  relation text COLLATE "C" NOT NULL,
  object text COLLATE "C" NOT NULL,
  valid_from bigint,
  begun_by bigint,
  holds_at bigint,
  valid_to bigint,
  ended_by bigint,
  body text COLLATE "C" NOT NULL,
  object_hash bigint GENERATED ALWAYS AS (hashtextextended(object, 0)) STORED,
  PRIMARY KEY (space, number)
);
CREATE INDEX claims_seq ON claims (space, seq);
CREATE INDEX claims_subject ON claims (space, subject, relation);
CREATE INDEX claims_object ON claims (space, object_hash);
SELECT raise_wall('claims');

CREATE TABLE facts (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  id text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  relation text COLLATE "C" NOT NULL,
  object text COLLATE "C" NOT NULL,
  single bigint NOT NULL,
  conflicts bigint NOT NULL,
  valid_from bigint,
  valid_to bigint,
  body text COLLATE "C" NOT NULL,
  object_hash bigint GENERATED ALWAYS AS (hashtextextended(object, 0)) STORED,
  PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX facts_id ON facts (space, id);
CREATE INDEX facts_subject ON facts (space, subject, relation);
CREATE INDEX facts_object ON facts (space, object_hash);
CREATE INDEX facts_conflicts ON facts (space, subject) WHERE conflicts = 1;
CREATE UNIQUE INDEX facts_one_open ON facts (space, subject, relation)
  WHERE single = 1 AND valid_to IS NULL AND conflicts = 0;
SELECT raise_wall('facts');

CREATE TABLE fact_claims (
  space bigint NOT NULL DEFAULT walled_space(),
  fact bigint NOT NULL,
  claim bigint NOT NULL,
  PRIMARY KEY (space, fact, claim)
);
CREATE INDEX fact_claims_claim ON fact_claims (space, claim);
SELECT raise_wall('fact_claims');

CREATE TABLE entity_edits (
  space bigint NOT NULL,
  number bigint NOT NULL DEFAULT nextval('row_number'),
  at bigint NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('merge', 'split')),
  undone bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (space, number)
);
SELECT raise_wall('entity_edits');

CREATE TABLE entity_pins (
  space bigint NOT NULL DEFAULT walled_space(),
  edit bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, edit, name)
);
SELECT raise_wall('entity_pins');

CREATE TABLE graphs (
  space bigint PRIMARY KEY,
  version bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 0
);
SELECT raise_wall('graphs');

-- How far files were read.

CREATE TABLE imports (
  space bigint NOT NULL,
  path text COLLATE "C" NOT NULL,
  reading text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  modified bigint NOT NULL,
  hash bytea NOT NULL,
  position text COLLATE "C" NOT NULL,
  events bigint NOT NULL,
  whole bigint NOT NULL,
  path_hash bigint GENERATED ALWAYS AS (hashtextextended(path, 0)) STORED,
  PRIMARY KEY (space, path_hash)
);
SELECT raise_wall('imports');

-- What the service needs. It belongs to no space: for the owner's role alone.

CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY,
  hash bytea NOT NULL,
  name text COLLATE "C" NOT NULL,
  permission text COLLATE "C" NOT NULL,
  spaces text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);
SELECT raise_gate('api_keys');

-- A webhook names its space, which nobody may have written to yet.
CREATE TABLE webhooks (
  id text COLLATE "C" PRIMARY KEY,
  space text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL,
  secret text COLLATE "C" NOT NULL,
  kinds text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  position text COLLATE "C" NOT NULL,
  delivered bigint NOT NULL DEFAULT 0,
  attempts bigint NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  error text COLLATE "C"
);
SELECT raise_gate('webhooks');

-- The concept graph.

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
  reason text COLLATE "C",
  PRIMARY KEY (space, number)
);
CREATE INDEX fold_edges_source ON fold_edges (space, source) WHERE kind NOT IN ('grounds', 'reinforces');
CREATE INDEX fold_edges_target ON fold_edges (space, target, kind);
CREATE INDEX fold_edges_event ON fold_edges (space, seq);
CREATE INDEX fold_edges_born ON fold_edges (space, born);
CREATE INDEX fold_edges_closed ON fold_edges (space, closed) WHERE closed IS NOT NULL;
CREATE INDEX fold_edges_born_by ON fold_edges (space, born_by);
CREATE INDEX fold_edges_closed_by ON fold_edges (space, closed_by) WHERE closed_by IS NOT NULL;
-- The events of each concept and the edges between concepts that hold now: merges leave many closed edges behind.
CREATE INDEX fold_edges_members ON fold_edges (space, target, number) INCLUDE (seq, at)
  WHERE closed IS NULL AND kind IN ('grounds', 'reinforces');
CREATE INDEX fold_edges_joining ON fold_edges (space, source, target)
  WHERE closed IS NULL AND kind IN ('causes', 'related_to');
CREATE INDEX fold_edges_joined ON fold_edges (space, target, source)
  WHERE closed IS NULL AND kind IN ('causes', 'related_to');
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
  events text COLLATE "C",
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
  PRIMARY KEY (space, seq)
);
CREATE INDEX fold_loose_settled ON fold_loose (space, settled);
SELECT raise_wall('fold_loose');

CREATE TABLE fold_marks (
  space bigint PRIMARY KEY,
  epoch bigint NOT NULL,
  profile text COLLATE "C" NOT NULL
);
SELECT raise_wall('fold_marks');

-- Attention.

CREATE TABLE accesses (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  count bigint NOT NULL,
  last_at bigint NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE INDEX accesses_by_count ON accesses (space, count, seq);
SELECT raise_wall('accesses');

-- What an LLM wrote.

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

-- Tags of what was forgotten.
CREATE TABLE forgotten (
  space bigint NOT NULL,
  tag bigint NOT NULL,
  PRIMARY KEY (space, tag)
);
SELECT raise_wall('forgotten');
