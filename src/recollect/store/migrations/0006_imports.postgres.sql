-- How far files were read, as in 0006_imports.sqlite.sql.

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
