-- The log and its indexes, as in 0001_log.sqlite.sql, for many tenants on one server: the space leads every key and
-- every index, so that tables can be partitioned or distributed by it, and every table stands behind a wall.
--
-- Text columns compare by bytes (COLLATE "C"), as SQLite's do. Names can be longer than an index row may be, so they are
-- found by a stored hash; who asks compares the name itself besides.

-- The wall. A transaction says whose rows it is about (`recollect.space`); rows of others can't be seen or written, also
-- where a query forgets to say which it means. '*' is for work on all spaces: taking jobs, adopting a model. Roles that
-- are not the owner's get no policy at all: they see nothing, whatever they set.
CREATE FUNCTION walled_space() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN current_setting('recollect.space', true) ~ '^-?[0-9]{1,19}$'
              THEN current_setting('recollect.space', true)::bigint END
$$;

CREATE FUNCTION raise_wall(walled regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', walled);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', walled);
  EXECUTE format(
    'CREATE POLICY wall ON %s TO CURRENT_USER USING (space = (SELECT walled_space()) '
    'OR (SELECT current_setting(''recollect.space'', true)) = ''*'')', walled);
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

-- Every table that has a space, and is not a part of another: what is partitioned, distributed or moved by it.
CREATE FUNCTION tables_by_space() RETURNS SETOF regclass LANGUAGE sql STABLE AS $$
  SELECT c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relnamespace = current_schema()::regnamespace
    AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attname = 'space' AND NOT a.attisdropped
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
  PERFORM set_config('recollect.space', '*', true);
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
  epoch bigint NOT NULL DEFAULT 0
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
CREATE INDEX events_wing ON events (space, wing_hash) WHERE wing_hash IS NOT NULL;
CREATE INDEX events_recorded ON events (space, recorded_at);
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

-- The same vectors once more, one a row, for spaces that are too large to be scanned: see store/postgres/near.py, which
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
