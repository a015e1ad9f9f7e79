-- What the service needs, as in 0007_service.sqlite.sql. It belongs to no space: for the owner's role alone.

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

-- What is partitioned, distributed or moved by space has its number, not its name.
CREATE OR REPLACE FUNCTION tables_by_space() RETURNS SETOF regclass LANGUAGE sql STABLE AS $$
  SELECT c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND a.attname = 'space' AND a.atttypid = 'bigint'::regtype AND NOT a.attisdropped
  ORDER BY c.relname
$$;
